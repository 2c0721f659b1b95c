// Starts what pages do beside being read.
import { startLive } from "/static/live.js";
import { startKeys } from "/static/keys.js";
import { startMoving } from "/static/move.js";

// Where somebody types, nothing changes by itself.
if (document.body.dataset.seq) startLive();
startKeys();
if (document.querySelector(".diff, form#new")) import("/static/desk.js");
startMoving();
