import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { createAgent } from '../../create-agent.ts'
import { call, scripted } from '../../testing/index.ts'
import { createWebFetchPlugin, webFetchPlugin } from './web-fetch.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const setup = {
  config: {},
  entry: { id: '1', toolId: 'web-fetch' },
  services: { agentId: 'a', clock: systemClock },
}

/** What the model gets. The servers of these tests are private, so they are allowed one by one. */
async function fetchPage(input: { url: string; extractText?: boolean }, plugin = allowing(input.url)) {
  const provider = scripted([call('1', 'web-fetch', input)], 'fin')
  await createAgent({ provider, tools: { it: plugin.tools!(setup)[0]! } }).run({ prompt: 'go' })
  const [result] = provider.requests[1]!.messages.at(-1)!.content
  if (result?.type !== 'tool_result') throw new Error('no result')
  return { output: String(result.output), isError: result.isError ?? false }
}

const allowing = (url: string) => createWebFetchPlugin({ allowPrivate: [URL.parse(url)?.host || 'none'] })

describe('web-fetch', () => {
  test('D033 gives a page as text, or as it is', async () => {
    const at = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<script>bad()</script><p>Hello <b>you</b></p>')
    })
    expect((await fetchPage({ url: at })).output).toBe(`200 ${at}/\n\nHello you`)
    expect((await fetchPage({ url: at, extractText: false })).output).toContain('<p>Hello <b>you</b></p>')
  })

  test('D033 cuts a text at 50,000 characters with a note on how to read on', async () => {
    const at = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(60_000))
    })
    const { output } = await fetchPage({ url: at })
    expect(output.match(/x{1000,}/)?.[0]).toHaveLength(50_000)
    expect(output).toContain('(characters 1-50000 of 60000; go on with offset=50000)')
  })

  test.each(['ftp://example.org/', 'file:///etc/passwd', 'javascript:1'])('D033 refuses %s', async (url) => {
    const { output, isError } = await fetchPage({ url })
    expect(isError).toBe(true)
    expect(output).toContain('only http and https')
  })

  test('D033 does not reach this machine, also not by redirects', async () => {
    let asked = 0
    const hidden = await serve((_, response) => response.end(`secret ${++asked}`))
    expect((await fetchPage({ url: hidden }, webFetchPlugin)).output).toContain('not on the public internet')
    const at = await serve((_, response) => response.writeHead(302, { location: hidden }).end())
    expect((await fetchPage({ url: at })).output).toContain('not on the public internet')
    expect(asked).toBe(0)
  })

  test('has the limit of its entry', () => {
    const of = (entry: object) => webFetchPlugin.tools!({ ...setup, entry: { ...setup.entry, ...entry } })[0]
    expect(of({})).toMatchObject({ timeoutMs: 30_000, effects: ['net'] })
    expect(of({ timeoutMs: 5000 })).toMatchObject({ timeoutMs: 5000 })
  })
})
