import { createServer } from 'node:http'

/** Speaks just enough of OpenAI's chat API to stream words without end, 200 a second. */
export async function startStreamingService(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let n = 0
      const timer = setInterval(() => {
        const content = ++n % 60 === 0 ? 'end.\n\n' : 'word '
        const choices = [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }]
        response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices })}\n\n`)
      }, 5)
      response.on('close', () => clearInterval(timer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the service has no port')
  return {
    port: address.port,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
