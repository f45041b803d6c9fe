import { messageOf } from '../core/errors.ts'

/** One server-sent event. */
export interface SseFrame {
  /** A client that connects again sends the last one as `Last-Event-ID`. */
  readonly id?: number
  readonly event: string
  readonly data: object
}

export interface SseResponseOptions {
  /** Sent as the event `beat`, so that a client notices a dead connection. */
  readonly beat: () => object
  /** Default 15,000. */
  readonly beatMs?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The words for an error that ends the stream. Default: its message. */
  readonly describe?: (error: unknown) => string
  /** Called once, when the client has gone or the events have ended. */
  readonly onEnd?: () => void
}

/** A response that sends frames as server-sent events, no faster than the client reads. Ends with `failed` if they throw. */
export function sseResponse(
  frames: AsyncGenerator<SseFrame, void, undefined>,
  { beat, beatMs = 15_000, headers = {}, describe = messageOf, onEnd }: SseResponseOptions,
): Response {
  let timer: ReturnType<typeof setInterval> | undefined
  const source: ConstructorParameters<typeof ReadableStream<Uint8Array<ArrayBuffer>>>[0] = {
    start(controller) {
      controller.enqueue(encoder.encode('retry: 1000\n\n')) // a first byte at once, for proxies
      timer = setInterval(() => {
        // A client that reads nothing needs no beat.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encode({ event: 'beat', data: beat() }))
      }, beatMs)
    },
    async pull(controller) {
      try {
        const { done, value } = await frames.next()
        if (timer === undefined) return // the client has gone
        if (!done) return controller.enqueue(encode(value))
      } catch (error) {
        if (timer === undefined) return
        // The stream has begun, so its status can no longer tell.
        controller.enqueue(encode({ event: 'failed', data: { error: describe(error) } }))
      }
      end()
      controller.close()
    },
    async cancel() {
      end()
      await frames.return()
    },
  }
  // Room for the first line and a frame: the reading begins before the client reads.
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(source, { highWaterMark: 2 })

  function end(): void {
    if (timer === undefined) return
    clearInterval(timer)
    timer = undefined
    onEnd?.()
  }

  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
}

const encoder = new TextEncoder()

/** JSON has no line breaks, so an event is one line of data. */
function encode({ id, event, data }: SseFrame): Uint8Array<ArrayBuffer> {
  return encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
