import type { Transport } from '@modelcontextprotocol/client'

/** A stream that ends before the answer it was opened for: the library says so to nobody, and whoever asked would wait in vain. */
export function noticeLostAnswers(transport: Transport): void {
  const send = transport.send.bind(transport)
  const waiting = new Set<string | number>()
  // Set before it is connected, it is called before whatever the library sets.
  transport.onmessage = (message) => {
    if (!('method' in message) && message.id !== undefined) waiting.delete(message.id)
  }
  transport.send = async (message, options) => {
    if (!('method' in message && 'id' in message) || options?.onRequestStreamEnd) return send(message, options)
    const { id } = message
    const { promise: lost, reject } = Promise.withResolvers<never>()
    waiting.add(id)
    const onRequestStreamEnd = (): void => {
      if (waiting.delete(id)) reject(new Error('the connection was closed before the answer came'))
    }
    try {
      await send(message, { ...options, onRequestStreamEnd })
    } catch (error) {
      waiting.delete(id)
      throw error
    }
    // Nobody waits for more than a failure of this.
    return lost
  }
}
