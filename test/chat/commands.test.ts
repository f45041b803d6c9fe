import { afterEach, describe, expect, test } from 'vitest'
import { call } from '../../src/testing/scripted.ts'
import { openScene, type Scene, type SceneOptions } from './scene.ts'

const scenes: Scene[] = []
async function scene(options: SceneOptions = {}): Promise<Scene> {
  const opened = await openScene(options)
  scenes.push(opened)
  return opened
}
afterEach(async () => {
  for (const one of scenes.splice(0)) await one.close()
})

const writes = (path: string, content: string) => [call(path, 'write_file', { path, content })]
const models = [
  { provider: 'anthropic', model: 'claude-sonnet-5', contextWindow: 200_000 },
  { provider: 'openai', model: 'gpt-6' },
  { provider: 'openai', model: 'gpt-6-mini' },
]

describe('UI35 a line that begins with a slash', () => {
  test('UI35 is a command, a typo names the one that was meant, and a path is a message', async () => {
    const { type, screen } = await scene()
    expect(await type('/keys')).toBe('done')
    expect(screen.views).toEqual(['keys'])
    await expect(type('/modle')).rejects.toThrow('There is no command /modle, did you mean "/mode" or "/model"?')
    expect(await type('/tmp/x is broken')).toBe('message')
    expect(await type('/tmp is full')).toBe('message')
    expect(await type('/ what')).toBe('message')
    await expect(type('/quit now')).rejects.toThrow('/quit takes no argument, got "now"')
    await type('/QUIT')
    expect(screen.hasQuit).toBe(true)
  })

  test('/help shows every command with its argument', async () => {
    const { type, screen, context } = await scene()
    await type('/help')
    for (const { name, summary } of context.commands) {
      expect(screen.viewed[0]?.text).toContain(`/${name}`)
      expect(screen.viewed[0]?.text).toContain(summary)
    }
    await type('/help /model')
    expect(screen.printed).toEqual(['/model [name]  Choose the model'])
  })

  test('/editor puts the edited text into the draft', async () => {
    const { type, screen } = await scene()
    await type('/editor fix it')
    expect(screen.drafts).toEqual(['fix it edited'])
  })
})

describe('UI36 the settings of the conversation', () => {
  test('UI36 /model takes a name, a part of a name that one model has, or a choice', async () => {
    const { type, chat, screen } = await scene({ models })
    await type('/model sonnet')
    expect(chat.state.settings.model.model).toBe('claude-sonnet-5')
    await type('/model gpt-6')
    expect(chat.state.settings.model.model).toBe('gpt-6')
    screen.choices.push('openai/gpt-6-mini')
    await type('/model')
    expect(chat.state.settings.model.model).toBe('gpt-6-mini')
    await type('/model groq/llama-9')
    expect(chat.state.settings.model).toEqual({ provider: 'groq', model: 'llama-9' })
    await expect(type('/model gpt')).rejects.toThrow('may be openai/gpt-6, openai/gpt-6-mini')
    await expect(type('/model gtp-6')).rejects.toThrow('did you mean "gpt-6"')
  })

  test('UI36 /thinking and /mode change them, and yolo needs a second yes', async () => {
    const { type, chat, screen } = await scene()
    await type('/thinking high')
    expect(chat.state.settings.thinking).toBe('high')
    await expect(type('/thinking hgih')).rejects.toThrow('is none of off, minimal')
    screen.choices.push('no')
    await type('/mode yolo')
    expect(chat.state.settings.mode).toBe('ask')
    screen.choices.push('yes')
    await type('/mode yolo')
    expect(chat.state.settings.mode).toBe('yolo')
  })

  test('UI36 /plan sets the mode and sends the task', async () => {
    const { type, chat, sent } = await scene({ steps: ['planned'] })
    await type('/plan the release')
    expect(chat.state.settings.mode).toBe('plan')
    expect(sent).toEqual([{ text: 'the release' }])
  })
})

describe('UI37 the session', () => {
  test('UI37 gets a title and labels, and is copied from before a message', async () => {
    const { type, say, chat, opened, screen, store } = await scene({ steps: ['one', 'two'] })
    await say('first')
    await say('second')
    const { sessionId } = chat.state
    await type('/rename Release work')
    expect((await store.find(sessionId!))?.title).toBe('Release work')
    await type('/label before the split')
    expect(chat.agent?.agent.session?.labels.map(({ text }) => text)).toEqual(['before the split'])
    await type('/fork 2')
    expect(opened.at(-1)?.fork?.id).toBe(sessionId)
    expect(chat.state.sessionId).not.toBe(sessionId)
    expect(chat.agent?.agent.turns.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(screen.drafts).toEqual(['second'])
  })

  test('UI38 /tree shows copies under their original with labels, and opens one', async () => {
    const { type, say, chat, screen } = await scene({ steps: ['one', 'two', 'three'] })
    await say('first')
    await type('/label start')
    await say('second')
    const original = chat.state.sessionId!
    await type('/fork 2')
    const copy = chat.state.sessionId!
    await type('/tree')
    const labels = screen.questions.at(-1)!.items.map(({ label }) => label)
    expect(labels).toEqual([
      expect.stringMatching(new RegExp(`^${original}  first`)),
      expect.stringMatching(/^ {2}# start \(entry \d+\)$/),
      expect.stringMatching(new RegExp(`^  ${copy} .*\\(from entry \\d+\\), open here$`)),
    ])
    screen.choices.push(original)
    await type('/tree')
    expect(chat.state.sessionId).toBe(original)
  })

  test('UI37 /new begins another one, and /sessions opens one by the beginning of its id', async () => {
    const { type, say, chat, screen } = await scene({ steps: ['one'] })
    await say('first')
    const { sessionId } = chat.state
    await type('/new')
    expect(chat.state.sessionId).not.toBe(sessionId)
    await type(`/sessions ${sessionId!.slice(0, -1)}`)
    expect(chat.state.sessionId).toBe(sessionId)
    await expect(type('/sessions nothing-like-it')).rejects.toThrow('There is no session "nothing-like-it"')
    await type('/sessions')
    expect(screen.views).toEqual(['sessions'])
  })
})

test('UI39 without snapshots the conversation alone goes back', async () => {
  const { type, say, screen, chat } = await scene({ steps: ['one', 'two'] })
  await say('first')
  await say('second')
  screen.choices.push('conversation')
  await type('/rewind 2')
  expect(chat.agent?.agent.turns.map(({ role }) => role)).toEqual(['user', 'assistant'])
  await expect(type('/rollback 1')).rejects.toThrow('The files cannot be restored: no snapshots')
})

test('UI40 /compact replaces the older part of the conversation by a summary at once', async () => {
  const { type, say, provider, screen } = await scene({ steps: ['a1', 'a2', 'a3', 'All about it.', 'a4'] })
  for (const text of ['q1', 'q2', 'q3']) await say(text)
  await type('/compact')
  expect(screen.printed[0]).toContain('is now a summary of 13 characters')
  await say('q4')
  const [first] = provider.requests.at(-1)!.messages
  expect(JSON.stringify(first)).toContain('All about it.')
  expect(JSON.stringify(provider.requests.at(-1)!.messages)).not.toContain('"q1"')
})

describe('UI41 the last answer', () => {
  const answer = 'Try this:\n\n```sh\nnpm test\n```\n\n1. or\n   ~~~ts\n   const a = `x`\n   ~~~'

  test('UI41 is copied from its source, whole or a code block of it', async () => {
    const { type, say, screen } = await scene({ steps: [answer] })
    await expect(type('/copy')).rejects.toThrow('There is no answer to copy yet')
    await say('how')
    await type('/copy')
    await type('/copy 1')
    await type('/copy 2')
    expect(screen.copied).toEqual([answer, 'npm test', 'const a = `x`'])
    expect(screen.printed).toContain('Copied 1 line (test)')
    await expect(type('/copy 3')).rejects.toThrow('The last answer has 2 code blocks')
    await type('/raw')
    expect(screen.printed.at(-1)).toBe(answer)
  })
})

describe('UI42 what a session used and decided', () => {
  test('UI42 /cost and /context tell tokens, cost and what fills the context', async () => {
    const usage = { input: 5000, output: 20, cacheRead: 3000, cost: 0.0123 }
    const { type, say, screen } = await scene({ steps: [{ text: 'x'.repeat(400), usage }] })
    await type('/cost')
    expect(screen.printed.at(-1)).toBe('No model call was made in this session yet')
    await say('how')
    await type('/cost')
    expect(screen.printed.at(-1)).toContain('1 model call: 8,000 tokens read (38 % from the cache), 20 written')
    expect(screen.printed.at(-1)).toContain('cost: $0.0123')
    await type('/context')
    expect(screen.printed.at(-1)).toMatch(/about 8,\d{3} tokens of 100,000 \(8 %\)/)
    expect(screen.printed.at(-1)).toMatch(/instructions and tools +[78],\d{3}/)
    expect(screen.printed.at(-1)).toMatch(/answers +\d{2,3} /)
  })

  test('UI43 /why names the rule or mode that decided about a call, and what would change it', async () => {
    const steps = [writes('a.txt', 'x'), 'no']
    const { type, say, screen } = await scene({ steps, authority: { deny: ['fs.write:a.txt'] } })
    await say('write')
    await type('/why 1')
    expect(screen.printed[0]).toMatch(/refused: .*\ndecided by: the deny rule fs.write:a.txt/)
    expect(screen.printed[0]).toContain('what would change it: removing that rule from the settings')
  })

  test('UI43 /grants shows kept approvals, and revokes one', async () => {
    const answer = () => ({ status: 'accepted', value: { scope: 'session' } }) as const
    const { type, say, screen, chat } = await scene({ steps: [writes('a.txt', 'x'), 'ok'], answer })
    await type('/grants')
    expect(screen.printed).toEqual(['No approval is kept'])
    await say('write')
    screen.choices.push('write_file: ')
    await type('/grants')
    expect(screen.printed.at(-1)).toMatch(/^Revoked: write_file/)
    expect(chat.agent?.authority?.grants.list()).toEqual([])
  })
})
