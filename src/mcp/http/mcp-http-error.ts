/**
 * A request that was not sent, or an answer that was not taken. It is a `TypeError`, as what `fetch` throws: the SDK goes
 * on without metadata after any other error, as if a server had none.
 */
export class McpHttpError extends TypeError {
  /** Such as `redirected`, `private`, `too_big`, `timeout`, or the system's own, `ECONNREFUSED`. */
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'McpHttpError'
    this.code = code
  }
}
