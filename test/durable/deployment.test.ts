import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { commands } from '../../src/cli/commands.ts'
import { parse } from '../../src/cli/parse.ts'

const fileOf = (name: string): string => readFileSync(new URL(`../../examples/fleet/${name}`, import.meta.url), 'utf8')

interface ComposeFile {
  readonly services: Readonly<Record<string, { readonly command?: string; readonly stop_grace_period?: string }>>
}

const { services } = parseYaml(fileOf('compose.yaml'), { merge: true }) as ComposeFile
const ofCompose = Object.values(services).flatMap(({ command }) => command ?? [])
const ofSystemd = ['libero-worker@.service', 'libero-serve.service'].map((name) =>
  /^ExecStart=(.*)$/m.exec(fileOf(name))![1]!.replaceAll('%i', '9474'),
)

test.each([...ofCompose, ...ofSystemd])(
  'FL77 a line of the files for compose and systemd is one that libero takes: %s',
  async (line) => {
    const [program = '', ...rest] = line.replace(/^\/usr\/bin\/env /, '').split(' ')
    const { name: own, bin } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    // Not npx, which passes signals on to a shell, which ends alone: the worker would be killed in place of drained.
    expect([program, rest[0]]).toEqual(['node', `node_modules/${own}/${bin.libero}`])
    const [name = '', ...args] = rest.slice(1)
    const command = await commands.find((one) => one.name === name)!.load()
    const { values } = parse(args, command)
    expect(values).toMatchObject(
      name === 'worker' ? { config: 'fleet.ts', port: expect.stringMatching(/^94[67]4$/) } : { fleet: 'fleet.ts' },
    )
  },
)

test('FL77 the files name two workers’ lines and two servers’, and wait longer than a drain takes', () => {
  expect([...ofCompose, ...ofSystemd]).toHaveLength(4)
  expect(Number.parseInt(services.worker?.stop_grace_period ?? '', 10)).toBeGreaterThan(30)
  expect(Number(/TimeoutStopSec=(\d+)/.exec(fileOf('libero-worker@.service'))?.[1])).toBeGreaterThan(30)
})

const analyze = spawnSync('systemd-analyze', ['--version'])
const noSystemd = analyze.error && 'there is no systemd-analyze, of the package systemd'
if (noSystemd) console.warn(`NOT TESTED, the units for systemd: ${noSystemd}`)

test.skipIf(noSystemd)('FL77 systemd takes every line of the units', () => {
  for (const name of ['libero-worker@.service', 'libero-serve.service']) {
    const unit = fileURLToPath(new URL(`../../examples/fleet/${name}`, import.meta.url))
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
    expect(stderr.split('\n').filter((line) => line.includes(name))).toEqual([]) // others are about units of this machine
  }
})

test('FL78 the fleet of the examples runs on SQLite on a laptop', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'libero-fleet-'))
  vi.stubEnv('FLEET_FILE', join(folder, 'fleet.db'))
  vi.stubEnv('DATABASE_URL', '')
  vi.stubEnv('ANTHROPIC_API_KEY', '')
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true, force: true })
  })
  const { default: fleet } = await import('../../examples/fleet/fleet.ts')
  const worker = fleet.work()
  await fleet.send('hello', { kind: 'helper', prompt: 'Say hello.' })
  await vi.waitFor(async () => expect((await fleet.store.find('hello'))?.turns).toBe(2), { timeout: 20_000 })
  await worker.drain()
  expect((await fleet.store.find('hello'))?.status).toBe('idle')
  await fleet.close()
})
