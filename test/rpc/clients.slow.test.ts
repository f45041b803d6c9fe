import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { testInTurns } from '../soak.ts'
import type { MockService } from './mock-service.ts'
import { liberoArgs, scratch, service } from './rpc-kit.ts'

const test = testInTurns(2)

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function run(program: string, file: string, prompt: string, mock: MockService, env: object = {}): Promise<Ended> {
  const cwd = scratch()
  const flags = ['--provider', 'deepseek', '--base-url', mock.url, '--api-key', 'sk-test', '--model', 'mock-1']
  const command = [process.execPath, ...liberoArgs, 'rpc', ...flags]
  const child = spawn(program, [join(import.meta.dirname, file), prompt, ...command], {
    cwd,
    env: { ...process.env, HOME: cwd, LIBERO_HOME: join(cwd, 'home'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 18_000,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text) => (stdout += text))
  child.stderr.on('data', (text) => (stderr += text))
  return new Promise((done) => child.on('close', (code) => done({ code, stdout, stderr })))
}

const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status === 0

describe.each([
  ['a plain shell', 'sh', 'client.sh'],
  ['Python’s standard library', 'python3', 'client.py'],
])('a client in %s', (_, program, file) => {
  const isHere = program === 'sh' || hasPython
  if (!isHere)
    console.warn('Without python3 its client is not tried; install it, for instance with: apt-get install python3')

  test.skipIf(!isHere)('C032 prompts, shows the answer and the tools, and ends with done', async () => {
    const mock = await service()
    mock.play([{ call: 'bash', args: { command: 'echo hi' } }], [{ say: 'It says' }, { say: ' hi.' }])
    const { code, stdout, stderr } = await run(program, file, 'run echo hi', mock)
    expect(stderr).toMatch(/^\[tool\] bash/m)
    expect(stdout).toBe('It says hi.\n')
    expect(code).toBe(0)
    expect(mock.requests[0].messages.at(-1).content).toBe('run echo hi')
  })

  test.skipIf(!isHere)('C032 is told of a failure', async () => {
    const mock = await service()
    mock.play({ status: 401 })
    const { code, stderr } = await run(program, file, 'go', mock)
    expect(stderr).toMatch(/\[error\] .*401/)
    expect(code).toBe(1)
  })

  test.skipIf(!isHere)('C014 C032 says hello with its token', async () => {
    const mock = await service()
    const { code, stdout } = await run(program, file, 'go', mock, { ZOTCORE_RPC_TOKEN: 'sesame' })
    expect(stdout).toBe('ok\n')
    expect(code).toBe(0)
  })
})
