import type { UIChunk, UIPart, UIToolPart } from './ui-message.ts'

/**
 * Turns the parts of a growing message into chunks: each call of `update` gives those that bring a client from what it has
 * to the parts as they are now. What cannot be added to is sent again, from the beginning of its step.
 */
export class PartChunks {
  /** What the client has. */
  #sent: UIPart[]
  /** The ids of texts and reasoning that can grow, by their place. */
  readonly #open = new Map<number, string>()
  #isInStep = false
  /** In this step text and reasoning alternate, so none is closed before its end. */
  #isInterleaved = false
  #chunks: UIChunk[] = []

  /** `has`: the parts that the client has already. */
  constructor(has: readonly UIPart[] = []) {
    this.#sent = [...has]
  }

  update(now: readonly UIPart[]): readonly UIChunk[] {
    this.#chunks = []
    for (let i = 0; i < Math.max(now.length, this.#sent.length); i++) {
      const before = this.#sent[i]
      const part = now[i]
      if (before === part) continue
      if (part && this.#bring(i, before, part)) this.#sent[i] = part
      else i = this.#reset(i, part)
    }
    return this.#chunks
  }

  /** Ends the last step. */
  end(): readonly UIChunk[] {
    this.#chunks = []
    this.#close()
    if (this.#isInStep) this.#chunks.push({ type: 'finish-step' })
    this.#isInStep = false
    return this.#chunks
  }

  /** Voids the step of part `i`. Returns the place before the one to go on with. */
  #reset(i: number, part: UIPart | undefined): number {
    const step = this.#sent.findLastIndex(({ type }) => type === 'step-start')
    if (i <= step) {
      // An earlier step cannot be sent again: the client keeps what it has, and a reload will show the rest.
      if (part) this.#sent[i] = part
      return part ? i : this.#sent.length
    }
    this.#chunks.push({ type: 'reset-step' })
    this.#sent.length = step + 1
    this.#open.clear()
    return step
  }

  /** Sends what is new in part `i`; false if that cannot be added to what the client has. */
  #bring(i: number, before: UIPart | undefined, part: UIPart): boolean {
    if (before && before.type !== part.type) return false
    switch (part.type) {
      case 'step-start':
        if (!before) this.#startStep()
        return true
      case 'text':
      case 'reasoning':
        return this.#grow(i, before as typeof part | undefined, part)
      case 'dynamic-tool':
        return this.#callTo(before as UIToolPart | undefined, part)
      case 'file':
        if (!before) this.#chunks.push({ type: 'file', url: part.url, mediaType: part.mediaType })
        return true
      case 'steering-message':
        if (!before) this.#chunks.push({ type: 'steering-message', id: part.id, parts: part.parts })
        return true
    }
  }

  #startStep(): void {
    this.#close()
    if (this.#isInStep) this.#chunks.push({ type: 'finish-step' })
    this.#chunks.push({ type: 'start-step' })
    this.#isInStep = true
    this.#isInterleaved = false
  }

  #grow(i: number, before: Grows | undefined, part: Grows): boolean {
    const { type, text, state } = part
    const old = before?.text ?? ''
    if (!before) {
      if (!this.#isInterleaved) this.#close()
      this.#open.set(i, type === 'reasoning' ? part.id : `text-${i}`)
      this.#chunks.push({ type: `${type}-start`, id: this.#open.get(i)! })
    }
    const id = this.#open.get(i)
    if (text !== old) {
      if (id === undefined || !text.startsWith(old)) {
        this.#isInterleaved ||= id === undefined
        return false
      }
      this.#chunks.push({ type: `${type}-delta`, id, delta: text.slice(old.length) })
    }
    if (state === 'done' && id !== undefined) {
      this.#open.delete(i)
      this.#chunks.push({ type: `${type}-end`, id })
    }
    return true
  }

  /** Another part has begun, so that those before it are complete, as far as one can know. */
  #close(): void {
    for (const [i, id] of this.#open) {
      const type = this.#sent[i]?.type === 'reasoning' ? 'reasoning-end' : 'text-end'
      this.#chunks.push({ type, id })
    }
    this.#open.clear()
  }

  #callTo(before: UIToolPart | undefined, part: UIToolPart): boolean {
    const { toolCallId, toolName } = part
    if (before && before.toolCallId !== toolCallId) return false
    if (!before && !this.#isInterleaved) this.#close()
    const call = { toolCallId, dynamic: true } as const
    if (part.state === 'input-streaming') {
      if (before && before.state !== 'input-streaming') return false
      const [old, text] = [before?.rawInput ?? '', part.rawInput ?? '']
      if (!text.startsWith(old)) return false
      if (!before) this.#chunks.push({ type: 'tool-input-start', toolName, ...call })
      if (text !== old)
        this.#chunks.push({ type: 'tool-input-delta', toolCallId, inputTextDelta: text.slice(old.length) })
      return true
    }
    if (!before || before.state === 'input-streaming')
      this.#chunks.push({ type: 'tool-input-available', toolName, input: part.input, ...call })
    this.#ask(before, part)
    if (before?.state === part.state) return true
    if (part.state === 'output-available')
      this.#chunks.push({ type: 'tool-output-available', output: part.output, ...call })
    if (part.state === 'output-error')
      this.#chunks.push({ type: 'tool-output-error', errorText: part.errorText, ...call })
    if (part.state === 'output-denied') this.#chunks.push({ type: 'tool-output-denied', toolCallId })
    return true
  }

  #ask(before: UIToolPart | undefined, part: UIToolPart): void {
    const asked = approvalOf(part)
    if (!asked) return
    const known = before && approvalOf(before)
    const { id: approvalId, requestReason, descriptor, approved, reason } = asked
    if (known?.id !== approvalId) {
      const why = requestReason === undefined ? {} : { reason: requestReason }
      const about = descriptor === undefined ? {} : { approvalDescriptor: descriptor }
      this.#chunks.push({ type: 'tool-approval-request', approvalId, toolCallId: part.toolCallId, ...why, ...about })
    }
    if (approved === undefined || (known?.id === approvalId && known.approved !== undefined)) return
    const why = reason === undefined ? {} : { reason }
    this.#chunks.push({ type: 'tool-approval-response', approvalId, approved, ...why })
  }
}

type Grows = Extract<UIPart, { type: 'text' | 'reasoning' }>

interface Asked {
  readonly id: string
  readonly requestReason?: string
  readonly descriptor?: unknown
  readonly approved?: boolean
  readonly reason?: string
}

const approvalOf = (part: UIToolPart): Asked | undefined => ('approval' in part ? part.approval : undefined)
