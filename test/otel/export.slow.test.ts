import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, onTestFinished, vi } from 'vitest'
import { exportedSignals } from '../../src/otel/exported-signals.ts'
import { openDesk } from '../cli/cli-kit.ts'
import { fakeIo } from '../cli/fake-io.ts'
import { commands, drivers, write } from '../cli/prompt-commands.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { sampleOf, testInTurns } from '../soak.ts'

const test = testInTurns(2)

interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
}

/** A collector that takes OTLP over HTTP, as JSON or as protobuf, of which it keeps the bytes. */
async function startCollector() {
  const messages: { readonly path: string; readonly bytes: Buffer }[] = []
  const spans: Span[] = []
  const metrics: string[] = []
  const resources: string[] = []
  const headers: unknown[] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    if (request.headers['content-type'] === 'application/x-protobuf') {
      messages.push({ path: request.url!, bytes: Buffer.concat(pieces) })
      return void response.setHeader('content-type', 'application/x-protobuf').end()
    }
    const body = JSON.parse(Buffer.concat(pieces).toString())
    headers.push(request.headers['x-team'])
    for (const { resource, scopeSpans } of body.resourceSpans ?? []) {
      resources.push(JSON.stringify(resource.attributes))
      for (const scope of scopeSpans) spans.push(...scope.spans)
    }
    for (const { scopeMetrics } of body.resourceMetrics ?? [])
      for (const scope of scopeMetrics) metrics.push(...scope.metrics.map(({ name }: { name: string }) => name))
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, spans, metrics, resources, headers, messages, close: () => server.close().closeAllConnections() }
}

let service: MockService
let collector: Awaited<ReturnType<typeof startCollector>>
beforeAll(async () => {
  ;[service, collector] = await Promise.all([startMockService(), startCollector()])
})
afterAll(() => Promise.all([service.close(), collector.close()]))

const namesOf = (spans: readonly Span[]): string[] => spans.map(({ name }) => name).sort()

test('DR05 libero run sends one trace and its measurements to the collector of the environment', async () => {
  const desk = openDesk(service.url)
  service.play([{ call: 'list_files', args: { path: '.' } }], [{ say: 'Nothing here.' }])
  const { code, out, err } = await desk.process(['run', 'look'], {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=tools',
      OTEL_SERVICE_NAME: 'desk',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    },
  })
  expect([code, out.trim()]).toEqual([0, 'Nothing here.'])
  expect(err).not.toContain('traces')
  expect(namesOf(collector.spans)).toEqual([
    'chat mock-1',
    'chat mock-1',
    'execute_tool list_files',
    expect.stringMatching(/^invoke_agent/),
  ])
  expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(collector.metrics).toContain('gen_ai.invoke_agent.duration')
  expect(collector.resources[0]).toMatch(/service\.name.*desk/)
  expect(collector.resources[0]).toContain('deployment.environment.name')
  expect(collector.headers).toContain('tools')
})

test('DR05 with http/protobuf the same is sent as protobuf', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }
  const { code, err } = await openDesk(service.url).process(['run', 'hello'], { env })
  expect([code, err]).toEqual([0, expect.not.stringContaining('traces')])
  const told = (path: string) => collector.messages.filter((message) => message.path === path)
  for (const [path, words] of [
    ['/v1/traces', ['service.name', 'chat mock-1', 'invoke_agent']],
    ['/v1/metrics', ['gen_ai.invoke_agent.duration']],
  ] as const) {
    expect(told(path)).toHaveLength(1)
    const { bytes } = told(path)[0]!
    expect(bytes[0]).toBe(0x0a) // field 1, a message: resource_spans or resource_metrics
    for (const word of words) expect(bytes.includes(word)).toBe(true)
  }
})

test('DR05 every command that runs an agent exports, and the server counts its sessions', async () => {
  for (const command of [...new Set(['serve' as const, ...sampleOf(commands, 2)])]) {
    const stdin = new PassThrough()
    const io = fakeIo({ stdin, env: { PATH: process.env.PATH, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
    vi.stubEnv('OTEL_METRIC_EXPORT_INTERVAL', command === 'serve' ? '10' : '')
    write(
      io.home,
      'config.json',
      JSON.stringify({ provider: 'mock', providers: { mock: { baseURL: service.url, model: 'mock-1' } } }),
    )
    write(io.home, 'agents/tester.json', JSON.stringify({ id: 'tester' }))
    const before = collector.spans.length
    try {
      await drivers[command](io, stdin, [])
    } finally {
      vi.unstubAllEnvs()
      stdin.end()
    }
    const names = namesOf(collector.spans.slice(before))
    expect(names, `libero ${command}: ${io.said.err}`).toEqual(['chat mock-1', expect.stringMatching(/^invoke_agent/)])
    if (command === 'serve') expect(collector.metrics).toContain('libero.sessions')
  }
})

test('DR05 a run that Ctrl-C ends is sent too, and one that goes on after its process was killed is linked to it', async () => {
  const desk = openDesk(service.url)
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` }
  const stopped = gate()
  service.play([{ say: 'Wait' }, { hang: stopped }])
  const interrupted = desk.start(['run', 'one'], { env })
  interrupted.child.stdin.end()
  await stopped.reached
  const before = collector.spans.length
  interrupted.child.kill('SIGINT')
  expect((await interrupted.ended).code).toBe(130)
  stopped.open()
  expect(namesOf(collector.spans.slice(before))).toEqual(['chat mock-1', expect.stringMatching(/^invoke_agent/)])

  const killed = gate()
  service.play([{ say: 'Wait' }, { hang: killed }], [{ say: 'Done.' }])
  const dying = desk.start(['run', 'two'], { env })
  dying.child.stdin.end()
  await killed.reached
  dying.child.kill('SIGKILL')
  await dying.ended
  killed.open()
  const seen = collector.spans.length
  const { code, err } = await desk.process(['run', '--continue'], { env })
  expect([code, err]).toEqual([0, expect.anything()])
  const run = collector.spans.slice(seen).find(({ name }) => name.startsWith('invoke_agent'))!
  const id = run.attributes.find(({ key }) => key === 'gen_ai.conversation.id')!.value.stringValue
  const { out } = await desk.libero(['sessions', 'export', id, '--format', 'jsonl'])
  expect(run.links).toHaveLength(1)
  expect(out).toContain(`00-${run.links![0]!.traceId}-${run.links![0]!.spanId}-01`)
})

/** An HTTP server that does this with every request, until the test ends. */
async function addressOf(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('DR06 a collector that cannot be reached, refuses or does not answer changes nothing but a line at the end, which says why', async () => {
  const silent = await addressOf(() => {})
  const busy = await addressOf((_, response) => void response.writeHead(503).end())
  const secret = 'a-secret-of-this-person'
  const cases: [string, Record<string, string>, string][] = [
    ['http://127.0.0.1:1', {}, 'the collector cannot be reached: connect ECONNREFUSED 127.0.0.1:1'],
    [busy, {}, 'the collector answered with status 503'],
    [silent, {}, 'the collector did not answer within 2000 ms'],
    // The SDK quotes what it cannot read.
    [silent, { OTEL_EXPORTER_OTLP_TIMEOUT: secret, DESK_API_KEY: secret }, 'OTEL_EXPORTER_OTLP_TIMEOUT'],
  ]
  const runs = cases.map(async ([address, more, why]) => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: address, ...more }
    return { ...(await openDesk(service.url).process(['run', 'hello'], { env })), why }
  })
  for (const { code, out, err, why } of await Promise.all(runs)) {
    expect([code, out.trim()]).toEqual([0, 'ok'])
    expect(err).toContain('libero: some traces or metrics were not sent: ')
    expect(err).toContain(why)
    expect(err).not.toContain(secret)
  }
})

/** Prints what is loaded at the end; with `without`, the packages of OpenTelemetry are not there. */
const spy = (without: boolean): string => {
  const code = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({
      resolve(name, context, next) {
        if (${without} && name.startsWith('@opentelemetry/')) throw Object.assign(new Error('no ' + name), { code: 'ERR_MODULE_NOT_FOUND' })
        return next(name, context)
      },
      load(url, context, next) { loaded.push(url); return next(url, context) },
    })
    process.on('exit', () => process.stderr.write('LOADED ' + loaded.filter((url) => /otel|opentelemetry|tracing/.test(url)).join(' ') + '\\n'))
  `
  return `--import data:text/javascript,${encodeURIComponent(code)}`
}

test('DR06 without the variables nothing of OpenTelemetry is loaded, and OTEL_SDK_DISABLED is obeyed', async () => {
  for (const env of [{}, { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }]) {
    const desk = openDesk(service.url)
    const { code, err } = await desk.process(['run', 'hello'], { env: { ...env, NODE_OPTIONS: spy(false) } })
    expect(code).toBe(0)
    const [, loaded = ''] = /^LOADED (.*)$/m.exec(err)!
    expect(loaded).not.toContain('opentelemetry')
    if (Object.keys(env).length === 0) expect(loaded).toBe('')
  }
})

test('DR06 where the packages are missing, the run goes on and says what to install', async () => {
  const desk = openDesk(service.url)
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, NODE_OPTIONS: spy(true) }
  const { code, out, err } = await desk.process(['run', 'hello'], { env })
  expect([code, out.trim()]).toEqual([0, 'ok'])
  expect(err).toContain('traces and metrics are not exported')
  expect(err).toContain('npm install @opentelemetry/api')
})

test.each([
  [{}, [false, false]],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, [true, true]],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_METRICS_EXPORTER: 'none' }, [true, false]],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://c' }, [false, true]],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, [true, false]],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'TRUE' }, [false, false]],
  [{ OTEL_SERVICE_NAME: 'x' }, [false, false]],
])('DR05 %j exports traces and metrics: %j', (env, wanted) => {
  const { traces, metrics, problems } = exportedSignals(env)
  expect([traces === 'json', metrics === 'json', problems]).toEqual([...wanted, []])
})

test('DR05 an exporter or a protocol that is not supported is named', () => {
  expect(exportedSignals({ OTEL_TRACES_EXPORTER: 'console' })).toEqual({
    traces: undefined,
    metrics: undefined,
    problems: ['OTEL_TRACES_EXPORTER is "console", which is not supported; set it to otlp or none'],
  })
  const grpc = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
  expect(exportedSignals(grpc)).toMatchObject({ traces: undefined, metrics: undefined })
  expect(exportedSignals(grpc).problems[0]).toContain(
    '"grpc", which is not supported; set it to http/json or http/protobuf',
  )
  const mixed = { ...grpc, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' }
  expect(exportedSignals(mixed)).toMatchObject({ traces: 'protobuf', metrics: undefined })
  expect(exportedSignals({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).problems).toEqual([])
})
