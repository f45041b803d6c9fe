import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serverDocs, serverDocsPath } from '../../scripts/server-docs.ts'
import { createAuthority } from '../../src/authority/authority.ts'
import { createAgent, createMemoryStore, createProcessContext } from '../../src/index.ts'
import { coding } from '../../src/presets/index.ts'
import { offline } from '../../src/providers/index.ts'
import { createServer } from '../../src/server/index.ts'
import { findProgram } from '../system-programs.ts'
import { listen } from './http-kit.ts'
import { token } from './server-kit.ts'

const page = readFileSync(serverDocsPath, 'utf8')

test('SV49 the routes in docs/server.md are those there are (else: npx node --conditions=libero-source scripts/server-docs.ts)', () => {
  expect(serverDocs(page)).toBe(page)
})

test.skipIf(!findProgram('curl'))(
  'SV48 the walk with curl in docs/server.md prints line by line what it says',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'libero-walk-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'notes.md'), '# Notes\n\nRemember teh milk.\n')
    const url = await serveFolder(folder)
    const steps = stepsIn(page)
    expect(steps.length).toBeGreaterThan(18)
    const acts = ['messages', 'events', 'pending', 'answers', 'stop', 'fork', 'export', '-X DELETE']
    expect(acts.filter((act) => !steps.some(({ command }) => command.includes(act)))).toEqual([])
    const printed = await runSteps(steps, folder, { URL: url, LIBERO_SERVER_TOKEN: token })
    for (const [i, { command, expected }] of steps.entries()) {
      const isAsSaid = expected === '' ? printed[i] === '' : patternOf(expected).test(printed[i] ?? '')
      expect([command, isAsSaid ? expected : printed[i]]).toEqual([command, expected])
    }
    expect(readFileSync(join(folder, 'notes.md'), 'utf8')).toContain('the milk')
  },
)

/** As `libero serve --provider offline` in the folder. */
async function serveFolder(folder: string): Promise<string> {
  const answerSecret = crypto.getRandomValues(new Uint8Array(32))
  const server = createServer({
    store: createMemoryStore(),
    auth: { token },
    authorityFor: async () => createAuthority({ answerSecret }),
    async agentFor({ session }) {
      const authority = createAuthority({ mode: 'ask', answerSecret })
      const execution = createProcessContext({ cwd: folder })
      const agent = createAgent({ ...coding, session, provider: offline(), execution, authority })
      return { agent, close: () => agent.destroy() }
    },
  })
  onTestFinished(() => server.close())
  return (await listen(server.fetch)).url
}

interface ShellStep {
  readonly command: string
  /** What it prints; `…` stands for anything. */
  readonly expected: string
}

/** The commands of all bash blocks, one a line. */
function stepsIn(text: string): ShellStep[] {
  const lines = [...text.matchAll(/^```bash\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trimEnd().split('\n'))
  const steps: { command: string; expected: string[] }[] = []
  for (const line of lines)
    if (line.startsWith('#> ')) steps.at(-1)!.expected.push(line.slice(3))
    else steps.push({ command: line, expected: [] })
  return steps.map(({ command, expected }) => ({ command, expected: expected.join('\n') }))
}

/** What each command printed, in one shell. */
function runSteps(steps: readonly ShellStep[], cwd: string, env: Record<string, string>): Promise<readonly string[]> {
  const script = steps.map(({ command }) => `${command}\nprintf '\\036'\n`).join('')
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { PATH: process.env.PATH, ...env }, timeout: 50_000 }
    execFile('bash', ['--norc', '--noprofile', '-c', script], options, (error, stdout, stderr) => {
      if (error || stderr !== '') reject(error ?? new Error(stderr))
      else
        resolve(
          stdout
            .split('\u001e')
            .slice(0, -1)
            .map((text) => text.trim()),
        )
    })
  })
}

const patternOf = (expected: string): RegExp =>
  new RegExp(`^${expected.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.*')}$`, 's')
