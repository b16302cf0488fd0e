// Writes the part of GitHub's OpenAPI description that the conformance test needs: for each operation the schema of
// each answer, and the schemas they name, without prose and examples. A tenth of the size, so that every test process
// can load it. Change the number in the file's name together with what is written here.
import { readFileSync, writeFileSync } from "node:fs";

const [source, target] = process.argv.slice(2);
const description = JSON.parse(readFileSync(source, "utf8"));

const PROSE = new Set(["description", "example", "examples", "title", "externalDocs", "deprecated", "default", "readOnly"]);
const MAPS_OF_SCHEMAS = new Set(["properties", "patternProperties"]);

function bare(schema) {
  if (Array.isArray(schema)) return schema.map(bare);
  if (schema === null || typeof schema !== "object") return schema;
  const kept = {};
  for (const [key, value] of Object.entries(schema)) {
    if (PROSE.has(key) || key.startsWith("x-")) continue;
    if (key === "enum" || key === "required") kept[key] = value;
    else if (MAPS_OF_SCHEMAS.has(key))
      kept[key] = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, bare(each)]));
    else kept[key] = bare(value);
  }
  return kept;
}

function resolved(response) {
  return response.$ref ? description.components.responses[response.$ref.split("/").pop()] : response;
}

const operations = {};
for (const [path, item] of Object.entries(description.paths)) {
  for (const [method, operation] of Object.entries(item)) {
    if (!operation.responses) continue;
    const answers = {};
    for (const [status, response] of Object.entries(operation.responses)) {
      const content = resolved(response).content ?? {};
      answers[status] = Object.fromEntries(
        Object.entries(content).map(([media, { schema }]) => [media, schema ? bare(schema) : true]),
      );
    }
    operations[`${method.toUpperCase()} ${path}`] = answers;
  }
}
const schemas = Object.fromEntries(
  Object.entries(description.components.schemas).map(([name, schema]) => [name, bare(schema)]),
);
writeFileSync(target, JSON.stringify({ operations, schemas }));
