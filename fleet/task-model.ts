import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelRequest, Provider } from '../src/core/provider.ts'
import type { Message, ToolCallBlock } from '../src/core/turn.ts'

/** The text of a message that asks for task `n`. */
export const taskText = (n: number): string => `Do task ${n}.`

/** The text of a message that ends every process that works on it. */
export const poisonText = 'Do what ends this process.'

/**
 * A model that calls `record` once for each task that it was asked for. Its reply depends only on the conversation, so that
 * a worker that takes a session over goes on where the one before was.
 */
export function taskModel({ thinkMs }: { readonly thinkMs: number }): Provider {
  return {
    meta: { name: 'task', defaultModel: 'task-1' },
    async *stream({ messages }, signal) {
      yield { type: 'start' }
      // Before others have got anywhere, so that they look as guilty.
      if (lastTextOf(messages).includes(poisonText)) process.exit(1)
      await sleep(thinkMs * (0.5 + Math.random()), undefined, { signal })
      const next = openTasks(messages)[0]
      const call = next === undefined ? undefined : callOf(next)
      const text = call ? `Task ${next}.` : 'Done.'
      yield { type: 'text', delta: text }
      const content = [{ type: 'text' as const, text }, ...(call ? [call] : [])]
      yield { type: 'reply', content, usage: { input: 10, output: 5 }, stop: call ? 'tool_use' : 'end' }
    },
  }
}

const callOf = (n: number): ToolCallBlock => ({
  ...{ type: 'tool_call', id: `call-${n}`, name: 'record', input: { task: n } },
})

/** The tasks that were asked for and not called yet, in their order. */
function openTasks(messages: ModelRequest['messages']): number[] {
  const asked = new Set<number>()
  for (const message of messages) {
    if (message.role === 'user') for (const [, n] of textIn(message).matchAll(/Do task (\d+)\./g)) asked.add(Number(n))
    for (const block of message.content) if (block.type === 'tool_call') asked.delete(Number(block.input.task))
  }
  return [...asked]
}

const textIn = ({ content }: Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')

const lastTextOf = (messages: readonly Message[]): string => {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? textIn(last) : ''
}
