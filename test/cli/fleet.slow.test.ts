import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { withPostgres } from '../postgres-kit.ts'
import { type Desk, openDesk, type Running } from './cli-kit.ts'
import { type Serving, startServing } from './serve-kit.ts'

/** A model that says words, with a pause after each, and does not end before the file `heard` says that it was joined. */
const fleetModule = (dist: string, url: string): string => `
import { existsSync } from 'node:fs'
import { createAgent } from '${dist}/index.js'
import { createFleet, pgBossDispatcher } from '${dist}/durable/index.js'
import { createPostgresStore } from '${dist}/sessions/postgres-store.js'

const provider = {
  meta: { name: 'slow', defaultModel: 'slow-1' },
  async *stream() {
    yield { type: 'start' }
    let text = ''
    for (const words = ['one ', 'two ', 'three ', 'four']; words.length > 0; ) {
      const delta = words.length === 1 && !existsSync('heard') ? 'and ' : words.shift()
      text += delta
      yield { type: 'text', delta }
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
    yield { type: 'reply', content: [{ type: 'text', text }], usage: { input: 1, output: 4 }, stop: 'end' }
  },
}

export default createFleet({
  store: createPostgresStore({ url: '${url}', schema: 'cli_fleet' }),
  dispatcher: pgBossDispatcher({ url: '${url}', schema: 'cli_fleet_jobs' }),
  kinds: { counter: ({ session, limited }) => createAgent({ session, provider: limited(provider) }) },
  limits: { tenants: { default: 5 }, providers: { 'slow:slow-1': { requestsPerMinute: 600 } } },
  version: '7',
})
`

withPostgres('libero worker and libero serve --fleet', (kit) => {
  const ends: (() => void)[] = []
  let desk: Desk
  let worker: Running
  let serving: Serving
  let address = ''

  beforeAll(async () => {
    desk = openDesk(undefined, (end) => void ends.push(end))
    desk.write('fleet.ts', fleetModule(pathToFileURL(join(dirname(await builtCli()), '..')).href, kit.server.url()))
    worker = desk.start(['worker', '--config', 'fleet.ts', '--concurrency', '3', '--grace', '5'])
    await worker.until(/^working at http:\S+\n/)
    address = /^working at (\S+)/.exec(worker.said.out)![1]!
    serving = await startServing(desk, ['--fleet', 'fleet.ts'])
  }, 60_000)
  afterAll(() => {
    for (const end of ends.reverse()) end()
  })

  test('FL72 what a worker streams reaches the client of a server that runs nothing', async () => {
    const { body } = await serving.send('/v1/sessions', { kind: 'counter' })
    const following = new AbortController()
    const headers = { authorization: `Bearer ${await tokenOf(desk)}` }
    const events = await fetch(`${serving.url}/v1/sessions/${body.id}/events`, { headers, signal: following.signal })
    await serving.send(`/v1/sessions/${body.id}/messages`, { content: 'Count.' })
    let said = ''
    for await (const piece of events.body!.pipeThrough(new TextDecoderStream())) {
      said += piece
      if (said.includes('event: delta')) desk.write('heard', '')
      if (said.includes('"run_ended"')) break
    }
    following.abort()
    const [streamed, logged] = [said.indexOf('event: delta'), said.search(/one two three (?:and )*four/)]
    expect(streamed).toBeGreaterThan(0)
    expect(logged).toBeGreaterThan(streamed)
  })

  test('FL73 a worker tells of its health and counts for Prometheus, and streams only to those who have its key', async () => {
    expect(await (await fetch(`${address}/healthz`)).text()).toBe('ok\n')
    expect(await (await fetch(`${address}/readyz`)).text()).toBe('ready\n')
    const metrics = await (await fetch(`${address}/metrics`)).text()
    expect(metrics).toMatch(/^libero_worker_runs_total [1-9]/m)
    expect(metrics).toMatch(/^libero_dispatch_wait_seconds_bucket\{le="\+Inf"\} [1-9]/m)
    expect((await fetch(`${address}/runs/some-run`)).status).toBe(401)
    expect((await fetch(`${address}/runs/some-run`, { headers: { authorization: 'Bearer guess' } })).status).toBe(401)
    expect((await fetch(`${address}/elsewhere`)).status).toBe(404)
    expect((await fetch(`${address}/healthz`, { method: 'POST' })).status).toBe(405)
  })

  test('FL74 libero fleet status shows workers, sessions, jobs and limits, and no key', async () => {
    const { out, code } = await desk.process(['fleet', 'status', '--config', 'fleet.ts'])
    expect(code).toBe(0)
    expect(out).toMatch(/^worker +state +runs +takeovers +version/m)
    expect(out).toMatch(/ working +0\/3 +0 +7 +counter/)
    expect(out).toContain(address)
    expect(out).toMatch(/^sessions +0 working, 0 waiting/m)
    expect(out).toMatch(/^jobs +0 waiting/m)
    expect(out).toMatch(/slow:slow-1: 600 a minute \(\d+ used\)/)
    expect(out).not.toContain('@')
  })

  test('FL75 SIGTERM drains a worker: a run ends, the process exits with success', async () => {
    const { body } = await serving.send('/v1/sessions', { kind: 'counter' })
    await serving.send(`/v1/sessions/${body.id}/messages`, { content: 'Count.' })
    while ((await serving.send(`/v1/sessions/${body.id}`)).body.status !== 'working')
      await new Promise((resolve) => setTimeout(resolve, 20))
    worker.child.kill('SIGTERM')
    const { code, err } = await worker.ended
    expect(code).toBe(0)
    expect(err).toMatch(/draining; 1 runs? may go on for 5 s/)
    const last = (await serving.entries(body.id)).at(-1)
    expect(last).toMatchObject({ type: 'run_ended', status: 'completed' })
  })

  test('FL76 a module that is missing or exports no fleet gets an error that says what to write', async () => {
    desk.write('empty.ts', 'export default 1\n')
    const missing = await desk.process(['worker', '--config', 'nowhere.ts'])
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('cannot load the fleet of nowhere.ts')])
    const { code, err } = await desk.process(['fleet', 'status', '--config', 'empty.ts'])
    expect([code, err]).toEqual([1, expect.stringContaining('export default createFleet({')])
    expect((await desk.process(['worker'])).err).toContain('needs --config')
  })
})

async function tokenOf({ home }: Desk): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return (await readFile(join(home, 'server-token'), 'utf8')).trim()
}
