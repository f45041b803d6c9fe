/**
 * `npm run soak [-- <filter> … [-t <name>]]`: the sweeps of which `npm test` takes a part, whole. They are the files that import
 * test/soak.ts. What begins with a dash, and all after it, is for vitest.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const given = process.argv.slice(2)
const firstOption = given.findIndex((word) => word.startsWith('-'))
const filters = firstOption < 0 ? given : given.slice(0, firstOption)
const options = given.slice(filters.length)
const files = globSync('{src,test}/**/*.test.ts', { cwd: root }).filter(
  (file) =>
    /from '[./]+(?:test\/)?soak\.ts'/.test(readFileSync(join(root, file), 'utf8')) &&
    (filters.length === 0 || filters.some((filter) => file.includes(filter))),
)
if (files.length === 0) {
  console.error(`soak: no sweep has ${filters.map((filter) => JSON.stringify(filter)).join(' or ')} in its path`)
  process.exit(1)
}
// A sweep takes its time, and longer where other work goes on.
const args = ['run', '--testTimeout=1800000', ...files, ...options]
const { status } = spawnSync(process.execPath, [join(root, 'node_modules/.bin/vitest'), ...args], {
  cwd: root,
  env: { ...process.env, LIBERO_SOAK: '1' },
  stdio: 'inherit',
})
process.exit(status ?? 1)
