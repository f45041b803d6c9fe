#!/usr/bin/env node
// Plain JavaScript: stripping the types from even an empty file costs more than all of this. The compile cache lets
// every later start load what an earlier one compiled.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `libero needs Node 22.18 or newer and this is ${process.version}; install a newer Node, or in its repository use npm start`,
  )
  process.exit(1)
}
// Imported as modules, Node's own parts would bring all that they could be asked for.
const { isAbsolute, join } = process.getBuiltinModule('node:path')
// Not where Node would put it: whoever first makes that folder in /tmp could lay code there for all users to run.
const home = process.env.HOME ?? process.env.USERPROFILE ?? ''
if (isAbsolute(home)) process.getBuiltinModule('node:module').enableCompileCache?.(join(home, '.cache', 'libero'))
const built = new URL('../dist/cli/main.js', import.meta.url)
const isBuilt = process.getBuiltinModule('node:fs').existsSync(built)
await import(isBuilt ? built.href : new URL('../src/cli/main.ts', import.meta.url).href)
