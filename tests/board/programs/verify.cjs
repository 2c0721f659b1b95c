// Runs the script of the page that verifies bundles: {page, cases: [[file, key]]} in, what it says of each out.
const fs = require("fs");
const { page, cases } = JSON.parse(fs.readFileSync(0, "utf-8"));
const script = fs.readFileSync(page, "utf-8").split("<script>")[1].split("</script>")[0];
const loaded = { exports: {} };
new Function("module", script)(loaded);
(async () => {
  const said = [];
  for (const [file, key] of cases) {
    try {
      const result = await loaded.exports.verify(new Uint8Array(fs.readFileSync(file)), key);
      said.push(`sound ${result.size} ${result.root} ${result.people} ${result.unsigned}`);
    } catch (fault) {
      said.push(`broken ${fault.message}`);
    }
  }
  process.stdout.write(JSON.stringify(said));
})();
