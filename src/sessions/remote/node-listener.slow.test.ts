import { createServer, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toNodeListener } from './node-listener.ts'

async function listening(handler: (request: Request) => Promise<Response>): Promise<number> {
  const server = createServer(toNodeListener(handler))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function ask(port: number, options: RequestOptions, parts: readonly Uint8Array[] = []): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, agent: false, ...options }, resolve).on('error', reject)
    for (const part of parts) outgoing.write(part)
    outgoing.end()
  })
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of incoming) text += chunk
  return text
}

describe('a web handler behind node:http', () => {
  test('gets method, path, headers and body, and its answer goes back', async () => {
    const port = await listening(async (asked) => {
      const { pathname, search } = new URL(asked.url)
      const said = [asked.method, pathname, search, asked.headers.get('x-a'), await asked.text()]
      return new Response(said.join(' '), { status: 201, headers: { 'x-b': '2' } })
    })
    const options = { method: 'POST', path: '/a%2Fb/~.?c=d', headers: { 'x-a': '1' } }
    const answer = await ask(port, options, [Buffer.from('one'), Buffer.from('two')])
    expect({ status: answer.statusCode, header: answer.headers['x-b'] }).toEqual({ status: 201, header: '2' })
    expect(await textOf(answer)).toBe('POST /a%2Fb/~. ?c=d 1 onetwo')
  })

  test('may answer before it has read the body, and the client gets to see the answer', async () => {
    const port = await listening(async (asked) => {
      const reader = asked.body!.getReader()
      await reader.read()
      await reader.cancel()
      return new Response('enough', { status: 413 })
    })
    const parts = Array.from({ length: 100 }, () => new Uint8Array(100_000))
    const answer = await ask(port, { method: 'PUT', path: '/' }, parts)
    expect([answer.statusCode, await textOf(answer)]).toEqual([413, 'enough'])
  })

  test('does not listen for ever to one who talks on after the answer', async () => {
    const port = await listening(async (asked) => {
      await asked.body?.cancel()
      return new Response('no', { status: 401 })
    })
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)))
    const [chunk, maxChunks] = [new Uint8Array(1_000_000), 200]
    socket.resume().write(`PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: ${1e12}\r\n\r\n`)
    const sent = async (): Promise<boolean> => {
      for (let i = 0; i < maxChunks && !socket.destroyed; i++)
        await new Promise((resolve) => socket.write(chunk, resolve))
      return socket.destroyed
    }
    expect(await Promise.race([closed, sent()])).toBe(true)
    socket.destroy()
  })

  test('is told that the client hung up', async () => {
    let hear: () => void = () => {}
    const heard = new Promise<void>((resolve) => (hear = resolve))
    let hangUp: () => void = () => {}
    const port = await listening((asked) => {
      asked.signal.addEventListener('abort', hear)
      hangUp()
      return new Promise(() => {})
    })
    const outgoing = request({ host: '127.0.0.1', port, path: '/', agent: false }).on('error', () => {})
    hangUp = () => outgoing.destroy()
    outgoing.end()
    await heard
  })

  test('is not asked what is no address', async () => {
    const port = await listening(async () => new Response('yes'))
    const socket = connect(port, '127.0.0.1', () => socket.write('OPTIONS http://[ HTTP/1.1\r\nhost: x\r\n\r\n'))
    const said = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
    socket.destroy()
    expect(said).toMatch(/^HTTP\/1\.1 400 /)
  })
})
