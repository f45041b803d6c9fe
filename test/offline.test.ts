import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { sampleOf } from './soak.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const limit = 120_000
/** The suite runs them all; here some are run once more, with nothing around them. */
const stories = globSync('test/stories/**/*.test.ts', { cwd: root }).filter((file) => !file.endsWith('.slow.test.ts'))

test(
  'F008 the stories pass with an empty environment, without keys or network, within their time limit',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'libero-offline-'))
    try {
      const outputFile = join(folder, 'report.json')
      const args = [
        'node_modules/vitest/vitest.mjs',
        'run',
        ...sampleOf(stories, 8),
        '--maxWorkers=1',
        '--no-isolate',
        '--reporter=json',
        `--outputFile=${outputFile}`,
      ]
      const env = { PATH: process.env.PATH ?? '' }
      await promisify(execFile)(process.execPath, args, { cwd: root, env, timeout: limit, maxBuffer: 2 ** 26 })
      const report = JSON.parse(await readFile(outputFile, 'utf8')) as { success: boolean; numPassedTests: number }
      expect(report.success).toBe(true)
      expect(report.numPassedTests).toBeGreaterThan(20)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
  limit,
)

test('a request that would leave the machine fails, from any code', () => {
  expect(() => fetch('http://example.com')).toThrow('No network in tests')
  expect(() => connect(80, 'example.com')).toThrow('No network in tests: connect to example.com')
  expect(() => connect({ host: '10.0.0.1', port: 80 })).toThrow('No network in tests: connect to 10.0.0.1')
})
