import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { emptyFolder, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { testInTurns } from '../../../test/soak.ts'
import type { EgressEvent } from './options.ts'

const test = testInTurns(2)

const server = createServer((asked, answer) => answer.end(`${asked.method} ${asked.url} of ${asked.headers.host}`))
let port = 0
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => void server.close())

const node = `'${process.execPath}'`
/** Asks as programs do that heed the variables for proxies. */
const fetching = (url: string): string =>
  `${node} -e 'fetch("${url}").then(async (a) => console.log(a.status, await a.text()), (e) => console.log(String(e.cause?.message ?? e)))'`

/** Asks the proxy itself, and shows what it says. */
const asking = (line: string, body = ''): string =>
  `exec 3<>/dev/tcp/127.0.0.1/3128; printf '${line} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nContent-Length: ${body.length}\\r\\n\\r\\n${body}' >&3; cat <&3`

describe.skipIf(unavailable)(`a sandbox with a few allowed hosts${skipped}`, () => {
  test('what is allowed is reached, what is not is refused and told to the model and to us', async () => {
    const events: EgressEvent[] = []
    const { run, context } = await place({
      network: { allow: [`localhost:${port}`, 'registry.test'], resolve: async (host) => addresses[host] ?? [] },
      onEgress: (event) => events.push(event),
    })
    expect(context.capabilities.network).toBe(true)
    const allowed = await run(fetching(`http://localhost:${port}/a?b`))
    expect(allowed).toEqual({ stdout: `200 GET /a?b of localhost:${port}\n`, stderr: '', exitCode: 0 })
    const refused = await run(asking('GET http://evil.test/'))
    expect(refused.stdout).toMatch(/^HTTP\/1\.1 403 [\s\S]*The sandbox did not connect: evil\.test:80 is not allowed/)
    expect((await run(fetching('https://evil.test/'))).stderr).toContain('evil.test:443 is not allowed')
    expect(refused.stderr).toMatch(/^\[sandbox\] evil\.test:80: .*not allowed \(only localhost:\d+, registry\.test\)$/m)
    const inside = await run(fetching('http://registry.test/'))
    expect(inside.stderr).toContain('registry.test has no address, or one that is neither public nor allowed as it is')
    expect(events.map(({ host, allowed }) => `${host} ${allowed}`)).toEqual(
      expect.arrayContaining(['localhost true', 'evil.test false', 'registry.test false']),
    )
    expect(events[0]).toMatchObject({ port, bytesReceived: expect.any(Number) })
    expect(events[0]?.bytesReceived).toBeGreaterThan(20)
  })

  test('there is no other way out', async () => {
    const { run } = await place({ network: { allow: [`localhost:${port}`] } })
    expect((await run('exec 3<>/dev/tcp/1.1.1.1/80')).stderr).toMatch(/unreachable/)
    expect((await run(`exec 3<>/dev/tcp/127.0.0.1/${port}`)).stderr).toMatch(/refused/)
    const direct = `HTTP_PROXY= http_proxy= NODE_USE_ENV_PROXY= ${fetching(`http://localhost:${port}/`)}`
    expect((await run(direct)).stdout).toMatch(/ECONNREFUSED/)
    expect((await run('cd /proc/self/fd; echo *; env | grep CHANNEL')).stdout).toBe('0 1 2 3\n')
  })

  test('a tunnel carries bytes both ways', async () => {
    const { run } = await place({ network: { allow: [`localhost:${port}`] } })
    const command = `exec 3<>/dev/tcp/127.0.0.1/3128
printf 'CONNECT localhost:${port} HTTP/1.1\\r\\n\\r\\n' >&3; read -r line <&3; read -r empty <&3
printf 'GET /through HTTP/1.0\\r\\n\\r\\n' >&3; echo "$line"; cat <&3`
    expect((await run(command)).stdout).toMatch(
      /^HTTP\/1\.1 200 Connection established\r\n[\s\S]*GET \/through of undefined$/,
    )
  })

  test('NET-14 the variables for proxies are ours, whatever a command or a project brings', async () => {
    const foreign = { HTTP_PROXY: 'http://evil.test', https_proxy: 'http://evil.test', NO_PROXY: '*' }
    const { run } = await place({ network: { allow: ['registry.test'] }, env: foreign })
    const { stdout } = await run('env | grep -i proxy | sort', { env: foreign })
    expect(stdout).not.toContain('evil.test')
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'])
      expect(stdout).toContain(`${name}=http://127.0.0.1:3128\n`)
    expect(stdout).toContain('NO_PROXY=localhost,127.0.0.1,::1\n')
  })

  test('a server inside is reached without the proxy, by its own command only', async () => {
    const { run } = await place({ network: { allow: ['registry.test'] } })
    const serving = `const s = require("http").createServer((_, a) => a.end("own")).listen(8123, "127.0.0.1", async () => { console.log(await (await fetch("http://localhost:8123/")).text()); s.close(); s.closeAllConnections() })`
    const both = await Promise.all([run(`${node} -e '${serving}'`), run(`${node} -e '${serving}'`)])
    expect(both.map(({ stdout }) => stdout)).toEqual(['own\n', 'own\n'])
  })

  test('input, exit codes, time limits and destroy are as without it', async () => {
    const { run, context, handle } = await place({ network: { allow: ['registry.test'] } })
    expect(await run('cat; exit 3', { input: 'text' })).toEqual({ stdout: 'text', stderr: '', exitCode: 3 })
    expect(await run('sleep 100', { timeout: 500 })).toMatchObject({ exitCode: null, timedOut: true })
    const work = run('sleep 100').catch(() => ({ exitCode: null }))
    await context.destroy(handle)
    expect((await work).exitCode).toBe(null)
  })

  test('nothing of it keeps this process from ending', () => {
    const script = fileURLToPath(new URL('../../../test/bubblewrap-child.ts', import.meta.url))
    const args = ['--conditions=libero-source', script, 'network', emptyFolder()]
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 15_000 })
    expect({ stdout, status }).toEqual({ stdout: 'connected\n\n', status: 0 })
  })

  test('NET-15 what was sent counts for all commands of a handle', async () => {
    const { run } = await place({ network: { allow: [`localhost:${port}`], maxUpload: 1000 } })
    const send = asking(`POST http://localhost:${port}/`, 'x'.repeat(900))
    expect((await run(send)).stdout).toMatch(/^HTTP\/1\.1 200 /)
    await run(send)
    expect((await run(send)).stderr).toContain('nothing goes out any more')
  })
})

const addresses: Record<string, string[]> = { localhost: ['127.0.0.1'], 'registry.test': ['10.0.0.1'] }
