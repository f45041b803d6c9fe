import type { LogEntry } from '../libero.ts'

/** Frames of zot's protocol as the entries that a log would have. Deltas are left out: whole messages follow them. */
export class ZotReader {
  readonly entries: LogEntry[] = []
  #at = 0

  /** False if the frame is not one of zot's. */
  add(frame: Readonly<Record<string, unknown>>): boolean {
    const { type } = frame
    this.#at = Date.parse(String(frame.time)) || this.#at
    const runId = String(this.entries.findLast((entry) => entry.type === 'run_started')?.seq ?? 0)
    switch (type) {
      case 'user_message':
        this.#write({ type: 'run_started', runId: String(this.entries.length + 1), model: 'zot' })
        this.#turn('user', frame.content)
        return true
      case 'assistant_message':
        this.#turn('assistant', frame.content)
        return true
      case 'tool_result':
        this.#write({
          ...{ type: 'call_result', callId: String(frame.id), outcome: 'done' },
          ...{ isError: frame.is_error === true, output: textOf(frame.content) },
        })
        return true
      case 'error':
      case 'done':
        if (this.entries.at(-1)?.type !== 'run_ended')
          this.#write({ type: 'run_ended', runId, status: type === 'error' ? 'error' : 'completed', stop: 'end' })
        return true
      default:
        return typeof type === 'string' && /^(response|turn_|assistant_start|text_|tool_|usage|compact_)/.test(type)
    }
  }

  #turn(role: 'user' | 'assistant', content: unknown): void {
    const blocks = blocksOf(content).map((block) =>
      block.type === 'tool_call' ? { ...block, input: block.args ?? {} } : { type: 'text', text: textOf([block]) },
    )
    const turn = { id: `t${this.entries.length}`, runId: '', role, content: blocks, createdAt: this.#at }
    this.#write({ type: 'turn', turn })
  }

  #write(body: object): void {
    const seq = this.entries.length + 1
    this.entries.push({ seq, id: `z${seq}`, at: this.#at, ...body } as unknown as LogEntry)
  }
}

type Block = Readonly<Record<string, unknown>>

const blocksOf = (content: unknown): readonly Block[] =>
  Array.isArray(content) ? content.filter((one): one is Block => typeof one === 'object' && one !== null) : []

const textOf = (content: unknown): string =>
  blocksOf(content)
    .map(({ type, text }) => (typeof text === 'string' ? text : `[${String(type)}]`))
    .join('\n')
