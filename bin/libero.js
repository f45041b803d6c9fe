#!/usr/bin/env node
// Plain JavaScript: stripping the types from even an empty file costs more than all of this. The compile cache lets
// every later start load what an earlier one compiled.
import { existsSync } from 'node:fs'
import module from 'node:module'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `libero needs Node 22.18 or newer and this is ${process.version}; install a newer Node, or in its repository use npm start`,
  )
  process.exit(1)
}
module.enableCompileCache()
const built = new URL('../dist/cli/main.js', import.meta.url)
await import(existsSync(built) ? built.href : new URL('../src/cli/main.ts', import.meta.url).href)
