/** What the work comes to, or a rejection as soon as `signal` says so. What comes too late is handed to `letGo`. */
export async function waitUnless<T>(signal: AbortSignal, work: Promise<T>, letGo?: (late: T) => unknown): Promise<T> {
  let onAbort = (): void => {}
  const stopped = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, stopped])
  } catch (error) {
    if (signal.aborted) work.then(letGo).catch(() => {})
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
