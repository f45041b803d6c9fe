/** An error that the client gets as it is: its code says of what kind it is, its message what to do. */
export class AcpError extends Error {
  override readonly name = 'AcpError'
  readonly code: number
  constructor(kind: keyof typeof codes, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = codes[kind]
  }
}

const codes = { invalid: -32602, refused: -32600, failed: -32603, 'not found': -32002, 'no login': -32000 } as const
