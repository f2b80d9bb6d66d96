// Bundles the pages' scripts and styles, and the licences of what is in them, for hale.serve.
//
//   node build.mjs [FOLDER]      the folder is src/hale/serve/static unless told
import { build } from "esbuild";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = resolve(process.argv[2] ?? join(here, "../src/hale/serve/static"));

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/explore.ts", "src/map.ts", "src/curves.ts", "src/explore.css"],
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none", // they stand in LICENSES.txt, whole
  metafile: true,
});

// Every package that a bundle has taken something from, by what esbuild read.
const used = new Set();
for (const path of Object.keys(metafile.inputs)) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
  if (found) used.add(found[1]);
}
const parts = [];
for (const name of [...used].sort()) {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file: it cannot be bundled`);
  const text = await readFile(join(folder, file), "utf8");
  parts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
}
const head = "The scripts and styles beside this file hold, besides hale's own, parts of:\n";
await writeFile(join(target, "LICENSES.txt"), [head, ...parts].join(`\n${"-".repeat(72)}\n\n`));
