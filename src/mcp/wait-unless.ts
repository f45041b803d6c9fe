/** What the work comes to, or a rejection as soon as `signal` says so; the work itself goes on. */
export async function waitUnless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort = (): void => {}
  const stopped = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, stopped])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
