// Asks the verifier of Sigstore what it thinks of proofs. Standard input: JSON of the folder of its
// package, the public key, its id and name, and proofs; output: for each "" or what is wrong with it.
"use strict";
const crypto = require("node:crypto");
const path = require("node:path");

const asked = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
const { verifyMerkleInclusion } = require(path.join(asked.package, "dist/tlog/merkle.js"));
const { verifyCheckpoint } = require(path.join(asked.package, "dist/tlog/checkpoint.js"));

const log = {
  logID: Buffer.from(asked.keyId, "hex"),
  baseURL: asked.name,
  publicKey: crypto.createPublicKey(asked.publicKey),
};

function judge(proof) {
  const entry = {
    canonicalizedBody: Buffer.from(proof.entry, "utf-8"),
    inclusionProof: {
      logIndex: String(proof.index),
      hashes: proof.path.map((part) => Buffer.from(part, "hex")),
      checkpoint: { envelope: proof.checkpoint },
    },
  };
  try {
    const checkpoint = verifyCheckpoint(entry, [log]);
    verifyMerkleInclusion(entry, checkpoint);
    return checkpoint.origin === proof.origin ? "" : "another origin";
  } catch (fault) {
    return String(fault.message);
  }
}

process.stdout.write(JSON.stringify(asked.proofs.map(judge)));
