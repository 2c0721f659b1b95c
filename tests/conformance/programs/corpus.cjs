// Asks the verifier of Sigstore what it thinks of what it can read of bundles and exports. Standard input: JSON of the folder
// of its package, the key (DER), its id and name, and cases; output: for each case "" or what is wrong with it.
// A case is a signed checkpoint with the entries that are proved in it, or a DSSE envelope.
"use strict";
const crypto = require("node:crypto");
const path = require("node:path");

const asked = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
const { toSignedEntity, toTrustMaterial, Verifier } = require(asked.package);
const { verifyMerkleInclusion } = require(path.join(asked.package, "dist/tlog/merkle.js"));
const { verifyCheckpoint } = require(path.join(asked.package, "dist/tlog/checkpoint.js"));

const der = Buffer.from(asked.publicKey, "base64");
const nobody = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
const trusted = toTrustMaterial(nobody, { [asked.vkey]: { rawBytes: der } });
const verifier = new Verifier(trusted, { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 });

function judgeNote(one) {
  const log = {
    logID: Buffer.from(asked.keyId, "hex"),
    baseURL: asked.name,
    publicKey: crypto.createPublicKey({ key: der, format: "der", type: "spki" }),
  };
  const envelope = { envelope: one.checkpoint };
  const checkpoint = verifyCheckpoint({ inclusionProof: { checkpoint: envelope } }, [log]);
  if (checkpoint.origin !== one.origin) throw new Error("another origin");
  for (const proof of one.proofs) {
    const hashes = proof.path.map((part) => Buffer.from(part, "hex"));
    const entry = {
      canonicalizedBody: Buffer.from(proof.entry, "base64"),
      inclusionProof: { logIndex: String(proof.index), hashes, checkpoint: envelope },
    };
    verifyMerkleInclusion(entry, checkpoint);
  }
}

function judgeEnvelope(one) {
  const signatures = one.signatures.map(({ sig, keyid }) => ({ sig: Buffer.from(sig, "base64"), keyid }));
  const dsseEnvelope = {
    payload: Buffer.from(one.payload, "base64"),
    payloadType: one.payloadType,
    signatures,
  };
  const hint = signatures.length > 0 ? signatures[0].keyid : "";
  const content = { $case: "publicKey", publicKey: { hint } };
  verifier.verify(
    toSignedEntity({
      content: { $case: "dsseEnvelope", dsseEnvelope },
      verificationMaterial: { content, tlogEntries: [] },
    }),
  );
}

function judge(one) {
  try {
    if (one.payload === undefined) judgeNote(one);
    else judgeEnvelope(one);
    return "";
  } catch (fault) {
    return String(fault.message) || "refused";
  }
}

process.stdout.write(JSON.stringify(asked.cases.map(judge)));
