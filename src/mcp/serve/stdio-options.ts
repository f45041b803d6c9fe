/** Streams are Node's, named by no type of Node's: who embeds us need not have those. */
export interface McpStdioOptions {
  /** A `Readable`. Default: stdin of this process. */
  readonly input?: object
  /** A `Writable`. Default: its stdout. Nothing else may be written there. */
  readonly output?: object
  /** Ends it as if the client had gone. */
  readonly signal?: AbortSignal
}
