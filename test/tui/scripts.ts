import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { call, type Step, scripted } from 'libero/testing'
import type { Message, ModelEvent, Provider } from 'libero/types'

/** A model that plays one of the scripts. */
export function providerOf(name: string): Provider {
  const script = scripts[name]
  if (!script) throw new Error(`there is no script ${name}; there are ${Object.keys(scripts).join(', ')}`)
  return script()
}

const scripts: Readonly<Record<string, () => Provider>> = {
  hello: () => scripted('Hello *there*.\n\nHow can I help?', 'And **again**.', 'A third time.'),
  shell: () => scripted({ text: 'I look.', calls: [call('1', 'shell', { command: 'echo one; echo two' })] }, 'Done.'),
  write: () =>
    scripted(
      [call('1', 'write_file', { path: 'a.txt', content: 'one\ntwo\n' })],
      [call('2', 'edit', { path: 'a.txt', old_string: 'two', new_string: 'three' })],
      'Written.',
    ),
  /** Says how long the last message is, and its digest. */
  digest: () =>
    scripted(
      ...Array.from({ length: 3 }, () => ({ messages }: { readonly messages: readonly Message[] }) => {
        const blocks = messages.at(-1)!.content
        const text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
        return `got ${text.length} characters, ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
      }),
    ),
  slow: () =>
    slowly(scripted(Array.from({ length: 60 }, (_, i) => `Line ${i} of a long answer.\n\n`).join(''), 'Second.')),
  thinking: () => slowly(scripted({ thinking: 'First I weigh it, then I decide.', text: 'Decided.' }), 60),
  agents: () =>
    slowly(scripted([call('1', 'spawn', { task: 'Count the files' })], lines('File', 30), 'It has counted.'), 25),
  reads: () =>
    scripted(
      [call('1', 'read_file', { path: 'a.txt' }), call('2', 'read_file', { path: 'b.txt' })],
      [call('3', 'read_file', { path: 'c.txt' })],
      [call('4', 'read_file', { path: 'missing.txt' }), call('5', 'read_file', { path: 'a.txt' })],
      'All are read.',
    ),
  readsAndHangs: () =>
    scripted([call('1', 'read_file', { path: 'a.txt' }), call('2', 'read_file', { path: 'b.txt' })], hang),
  todo: () => slowly(scripted([call('1', 'todowrite', { todos: steps })], lines('Line', 40), 'Second.'), 25),
  term: () => acting(() => process.kill(process.pid, 'SIGTERM')),
  hup: () => acting(() => process.kill(process.pid, 'SIGHUP')),
  crash: () =>
    acting(() =>
      setTimeout(() => {
        throw new Error('it is broken')
      }, 10),
    ),
}

const lines = (word: string, count: number): string =>
  Array.from({ length: count }, (_, i) => `${word} ${i} of many.\n\n`).join('')

const steps = [
  { content: 'Look around', status: 'completed' },
  { content: 'Fix it', status: 'in_progress' },
  { content: 'Run the tests', status: 'pending' },
]

const hang = async (_: unknown, signal: AbortSignal): Promise<string> => {
  await pause(60_000, undefined, { signal })
  return 'never'
}

/** A model that does something to its process, and never answers. */
const acting = (act: () => unknown): Provider =>
  scripted(async (_, signal) => {
    act()
    await pause(60_000, undefined, { signal })
    return 'never'
  })

/** The same model, with a pause between pieces. */
function slowly(provider: Provider, ms = 15): Provider {
  return {
    ...provider,
    async *stream(request, signal) {
      for await (const event of provider.stream(request, signal)) {
        await pause(ms, undefined, { signal })
        yield event as ModelEvent
      }
    },
  }
}

export type { Step }
