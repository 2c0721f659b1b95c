"""The words of research: the types of arguments that its actions share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXT, TEXTS, not_blank
from counterpoint.dialects.foundry.nouns import research as nouns

_Said = Annotated[str, Field(min_length=1, max_length=100_000), AfterValidator(not_blank), TEXT]
_Id = Annotated[str, Field(min_length=1, max_length=200), TEXT]
_Name = Annotated[str, Field(max_length=200), TEXT]

Prompt = Annotated[_Said, Field(description="What to ask")]
MaybePrompt = Annotated[
    str, Field(max_length=100_000, description="Instead of the node's query"), TEXT
]
Topic = Annotated[str, Field(max_length=100_000, description="Begins one"), TEXT]
Query = Annotated[str, Field(max_length=100_000, description="What to look at now"), TEXT]
ThreadId = Annotated[_Id, Field(description="Thread; without: a new one")]
AnyThread = Annotated[_Id, Field(description="Thread, or other research")]
StudyId = Annotated[_Name, Field(description="Goes on with one")]
ProviderId = Annotated[_Name, Field(description="Other than the usual one")]
Model = Annotated[_Name, Field(description="Other than its usual one")]
System = Annotated[str, Field(max_length=100_000, description="Stands above all"), TEXT]
Title = Annotated[str, Field(max_length=500, description="Of the thread"), TEXT]
Temperature = Annotated[float | None, Field(ge=0, le=2, description="0-2"), NUMBER]
Tokens = Annotated[int, Field(ge=1, le=100_000, description="Of the answer"), INTEGER]
Seconds = Annotated[float, Field(ge=1, le=3_600, description="For each"), NUMBER]
Depth = Annotated[int, Field(ge=1, le=50, description="Steps at most"), INTEGER]
Few = Annotated[int, Field(ge=1, le=20, description="At once"), INTEGER]
RequireAll = Annotated[bool, Field(description="All have to answer")]
Least = Annotated[int, Field(ge=1, le=20, description="Answers there have to be"), INTEGER]
_Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], TEXTS]
Providers = Annotated[_Names, Field(max_length=20, description="Names, or name:model")]
Perspectives = Annotated[_Names, Field(max_length=20, description="Views to take")]
Clusters = Annotated[_Names, Field(max_length=30, description="c1 ...")]
Criteria = Annotated[_Names, Field(max_length=20, description="To score by")]
ThreadStatus = Annotated[nouns.ThreadStatus, Field(description="Only these")]
Strategy = Annotated[nouns.Strategy, Field(description="How answers become one")]
IdeateAction = Annotated[nouns.IdeateAction, Field(description="Step of ideate")]
NodeId = Annotated[_Id, Field(description="research-1-2")]
Finding = Annotated[nouns.Finding, Field(description="What came of it")]
Confidence = Annotated[nouns.Confidence, Field(description="How sure")]
Summary = Annotated[str, Field(max_length=20_000, description="Summary"), TEXT]
_Texts = Annotated[list[Annotated[str, Field(min_length=1, max_length=2_000)]], TEXTS]
Texts = Annotated[_Texts, Field(max_length=50, description="Findings")]
_Url = Annotated[str, Field(min_length=1, max_length=2_000)]
Urls = Annotated[
    list[_Url], TEXTS, Field(min_length=1, max_length=10, description="Pages, at most 10")
]
MaybeQuery = Annotated[str, Field(max_length=100_000, description="What to find out"), TEXT]
ResearchId = Annotated[_Id, Field(description="deepres-...")]
MaybeResearchId = Annotated[_Name, Field(description="deepres-...")]
DeepAction = Annotated[
    nouns.DeepAction, Field(description="resume: after a stop; continue: look further")
]
Rounds = Annotated[int, Field(ge=1, le=10, description="Rounds"), INTEGER]
SubQueries = Annotated[int, Field(ge=1, le=20, description="Searches a round"), INTEGER]
SourcesPerQuery = Annotated[int, Field(ge=1, le=50, description="Pages a search"), INTEGER]
Mode = Annotated[nouns.ResearchMode, Field(description="Whose pages come first")]
ActSeconds = Annotated[float, Field(ge=1, le=3_600, description="For each act"), NUMBER]
Follow = Annotated[bool, Field(description="Fetch pages")]
TaskSeconds = Annotated[float, Field(ge=10, le=7_200, description="Seconds of work"), NUMBER]
CompletedOnly = Annotated[bool, Field(description="Only these")]
Offset = Annotated[int, Field(ge=0, le=10_000_000, description="Where the text begins"), INTEGER]
SessionId = Annotated[_Name, Field(description="Research, or run, behind it")]
