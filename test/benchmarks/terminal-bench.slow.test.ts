import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { openDesk } from '../cli/cli-kit.ts'
import { type MockService, startMockService } from '../rpc/mock-service.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../../benchmarks/terminal-bench', import.meta.url))
const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' }
const hasPython = await run('python3', ['-c', 'import sys; assert sys.version_info >= (3, 10)']).then(
  () => true,
  () => false,
)
if (!hasPython) console.warn('NOT TESTED: the adapter for Terminal-Bench needs python3, version 3.10 or later')

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

test.skipIf(!hasPython)(
  'DR11 the tests of the adapter pass: commands, limits, keys, logs, and the class itself',
  async () => {
    const { stderr } = await run('python3', ['-m', 'unittest'], { cwd: folder, env })
    expect(stderr).toMatch(/Ran [1-9]\d* tests[\s\S]*OK/)
  },
)

test.skipIf(!hasPython)(
  'DR11 the line that it builds runs Libero, and the tokens it counts are those of the log',
  async () => {
    const desk = openDesk(service.url)
    const [bin, logs] = [join(desk.home, 'bin'), join(desk.home, 'logs')]
    mkdirSync(bin)
    mkdirSync(logs)
    writeFileSync(join(bin, 'libero'), `#!/bin/sh\nexec "${process.execPath}" "${await builtCli()}" "$@"\n`)
    chmodSync(join(bin, 'libero'), 0o755)
    const instruction = "write it's $(done) into made"
    const python = (code: string) => run('python3', ['-c', code, instruction, logs], { cwd: folder, env })
    const { stdout: line } = await python(
      'import sys; from libero_run import *; print(run_command(sys.argv[1], "mock/mock-1", Limits(max_turns=5), sys.argv[2]))',
    )
    service.play([{ call: 'shell', args: { command: 'touch made' } }], [{ say: 'Done.' }])
    const from = service.requests.length
    await run('bash', ['-c', `set -o pipefail; ${line}`], {
      cwd: desk.cwd,
      env: { ...desk.env, PATH: `${bin}:${desk.env.PATH}` },
    })
    expect(service.requests.length - from).toBe(2)
    expect(JSON.stringify(service.requests[from])).toContain(instruction)
    const { stdout } = await python(
      'import sys, json; from libero_run import *; print(json.dumps(vars(read_outcome_file(Path(sys.argv[2]) / "libero.jsonl"))))',
    )
    const outcome = JSON.parse(stdout)
    expect(outcome).toMatchObject({ status: 'completed', model_calls: 2, tool_calls: 1, version: '0.1.0' })
    const { out } = await desk.libero(['sessions', 'list', '--json'])
    const { tokens } = JSON.parse(out).sessions[0]
    // The summary of a session counts what is read from the cache apart; Harbor wants it as input.
    expect(outcome.input_tokens - outcome.cache_tokens + outcome.output_tokens).toBe(tokens)
    expect(outcome.cache_tokens).toBeGreaterThan(0)
    expect(tokens).toBeGreaterThan(0)
  },
)
