/** A response that sends objects as `data:` lines and ends with `[DONE]`, as the AI SDK and OpenAI do. */
export function dataStream(
  items: AsyncGenerator<object, void, undefined>,
  { headers = {}, onEnd }: { readonly headers?: Readonly<Record<string, string>>; readonly onEnd: () => void },
): Response {
  const encoder = new TextEncoder()
  let timer: ReturnType<typeof setInterval> | undefined
  const end = (): void => {
    clearInterval(timer)
    onEnd()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Proxies close a connection without traffic; a comment prevents that.
        timer = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(':\n\n'))
        }, 15_000)
      },
      async pull(controller) {
        try {
          const { done, value } = await items.next()
          if (!done) return controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`))
          controller.enqueue(encoder.encode('data: [DONE]\n\n'))
          controller.close()
        } catch (error) {
          controller.error(error) // breaks the connection off, so that the client knows that this is not the end
        }
        end()
      },
      async cancel() {
        end()
        await items.return()
      },
    },
    { highWaterMark: 2 },
  )
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
}
