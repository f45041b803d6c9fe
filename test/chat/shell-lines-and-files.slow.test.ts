import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { attachFiles, mentionsIn } from '../../src/chat/attach-files.ts'
import { completionsFor } from '../../src/chat/complete.ts'
import { runShellLine, shellLineIn } from '../../src/chat/run-shell-line.ts'
import { submitLine } from '../../src/chat/submit-line.ts'
import { withFiles } from '../../src/chat/with-files.ts'
import { workspaceFiles } from '../../src/chat/workspace-files.ts'
import { createProcessContext } from '../../src/execution/process.ts'
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

const textsOf = (content: readonly { readonly type: string; readonly text?: string }[]): string =>
  content.map(({ text = '' }) => text).join('\n')

describe('UI45 a line that begins with an exclamation mark', () => {
  test('UI45 is judged and asked about as a call of the shell, and the model reads its output', async () => {
    const asked: string[] = []
    const { chat, say, provider } = await scene({
      steps: ['seen'],
      answer(prompt) {
        asked.push(String(prompt.payload.toolId))
        return { status: 'accepted', value: { scope: 'once' } }
      },
    })
    const { output, isError } = await runShellLine('echo made > made.txt && cat made.txt', chat)
    expect([output, isError]).toEqual([expect.stringContaining('made'), false])
    expect(asked).toEqual(['shell'])
    const rows = [...chat.state.view.rows]
    expect(rows.map(({ kind }) => kind)).toEqual(['message', 'message'])
    expect(rows[0]).toMatchObject({ meta: { shellLine: 'echo made > made.txt && cat made.txt' } })
    expect(rows[1]).toMatchObject({ isNote: true })
    expect(provider.requests).toEqual([])
    await say('what came of it')
    const [request] = provider.requests
    expect(textsOf(request!.messages.flatMap(({ content }) => content))).toMatch(
      /!echo made.*The user ran this command\. Its output:\n.*made.*what came of it/s,
    )
  })

  test('UI45 is refused by the rules that refuse the model, and nothing runs', async () => {
    const { chat, folder } = await scene({ authority: { deny: ['shell:touch'] } })
    const { output, isError } = await runShellLine('touch x', chat)
    expect([output, isError]).toEqual([expect.stringMatching(/^Blocked: /), true])
    const list = await workspaceFiles({ execution: createProcessContext({ cwd: folder }) }).refresh()
    expect(list.best('', 10)).toEqual([])
    const denied = await scene({ answer: () => ({ status: 'rejected', reason: 'not now' }) })
    expect(await runShellLine('touch x', denied.chat)).toMatchObject({
      output: expect.stringContaining('not now'),
      isError: true,
    })
  })

  test('UI45 is there when the session is opened again, and a rewind takes it back', async () => {
    const { chat, say, type, provider, screen } = await scene({ steps: ['hi', 'seen'], authority: { mode: 'yolo' } })
    await say('hello')
    await runShellLine('echo once', chat)
    const before = [...chat.state.view.rows].map(({ kind, seq }) => `${kind} ${seq}`)
    await chat.open({ resume: chat.state.sessionId! })
    expect([...chat.state.view.rows].map(({ kind, seq }) => `${kind} ${seq}`)).toEqual(before)
    expect(chat.state.isResumable).toBeUndefined()
    await say('and now')
    expect(JSON.stringify(provider.requests.at(-1)?.messages)).toContain('once')
    screen.choices.push('!echo once', 'conversation')
    await type('/rewind')
    expect(JSON.stringify(chat.agent?.agent.turns)).not.toContain('once')
    expect(screen.drafts).toEqual(['!echo once'])
  })

  test('UI45 can be stopped', async () => {
    const { chat } = await scene({ authority: { mode: 'yolo' } })
    const line = runShellLine('sleep 30', chat)
    const stopped = expect(line).rejects.toThrow(/abort/i)
    while (![...chat.state.view.rows].length) await new Promise((resolve) => setTimeout(resolve, 10))
    chat.stop()
    await stopped
    expect(chat.state.phase).toBe('idle')
  })

  test('UI45 that is stopped did not fail: its text is not given back', async () => {
    const { chat, screen } = await scene({ authority: { mode: 'yolo' } })
    const line = submitLine({ text: '!sleep 30' }, { chat, screen, commands: [] })
    while (![...chat.state.view.rows].length) await new Promise((resolve) => setTimeout(resolve, 10))
    chat.stop()
    await line
    expect(chat.state.phase).toBe('idle')
  })

  test('without a command it is a message', () => {
    expect(shellLineIn('! npm test ')).toBe('npm test')
    expect(shellLineIn('!')).toBeUndefined()
    expect(shellLineIn('well!')).toBeUndefined()
  })
})

test('UI45 /jobs shows a background job and stops it', async () => {
  const steps = [[call('1', 'shell', { command: 'echo begun; sleep 60', background: true })], 'started']
  const { say, type, chat, screen } = await scene({ steps, authority: { mode: 'yolo' } })
  await type('/jobs')
  expect(screen.printed).toEqual(['No background job runs'])
  await say('start it')
  expect(chat.state.view.jobs.map(({ command }) => command)).toEqual(['echo begun; sleep 60'])
  screen.choices.push('echo begun', 'stop it')
  await type('/jobs')
  expect(screen.viewed[0]?.text).toMatch(/stopped|ended|signal/i)
  expect(chat.state.view.jobs).toEqual([])
})

describe('UI46 a file that a message names', () => {
  test('UI46 is attached if it is a small text that the agent may read', async () => {
    const files = {
      'src/a.ts': 'const a = 1\n',
      'big.txt': 'x'.repeat(20_001),
      'bytes.bin': '\0\0',
      'my notes.md': '```\ncode\n```',
      'secret.env': 'KEY=1',
    }
    const { chat, folder } = await scene({ files, authority: { deny: ['fs.read:secret.env'] } })
    symlinkSync('secret.env', join(folder, 'harmless.txt'))
    const outside = join(folder, '..', `${folder.split('/').at(-1)}-outside.txt`)
    writeFileSync(outside, 'outside')
    const text = `look at @src/a.ts, @big.txt @bytes.bin @"my notes.md" @secret.env @harmless.txt @${outside} @none and @src/`
    const { message, notices } = await attachFiles({ text }, chat.agent!)
    rmSync(outside)
    expect(message.text).toBe(text)
    expect(textsOf(message.parts!.slice(1))).toBe(
      'The file src/a.ts:\n```\nconst a = 1\n```\nThe file my notes.md:\n````\n```\ncode\n```\n````',
    )
    expect(notices).toEqual([
      'big.txt is large; the model gets its name and reads what it needs',
      'bytes.bin is no text; the model gets its name',
      expect.stringMatching(/^secret\.env is not attached: reading it is refused/),
      expect.stringMatching(/^harmless\.txt is not attached: reading it is refused/),
      expect.stringMatching(/-outside\.txt is not attached: reading it needs an approval/),
    ])
  })

  test('UI46 is attached anew after a rewind: the input gets the text of the person alone', async () => {
    const { chat, screen, type } = await scene({ files: { 'a.ts': 'const a = 1\n' }, steps: ['seen'] })
    await chat.send(await withFiles({ text: 'see @a.ts' }, { chat, screen }))
    while (chat.state.phase !== 'idle') await new Promise((resolve) => setTimeout(resolve, 10))
    expect(JSON.stringify(chat.agent?.agent.turns)).toContain('const a = 1')
    screen.choices.push('see @a.ts', 'conversation')
    await type('/rewind')
    expect(screen.drafts).toEqual(['see @a.ts'])
  })

  test('UI46 a private file of the home folder is never attached', async () => {
    const { chat } = await scene()
    const { message, notices } = await attachFiles({ text: `@${homedir()}/.ssh/id_rsa` }, chat.agent!)
    expect(message.parts).toBeUndefined()
    expect(notices).toEqual([expect.stringContaining('is not attached')])
  })

  test('mentions begin a word, and each counts once', () => {
    expect(mentionsIn('mail a@b.c, see (@x/y) @x/y) @"a b" @')).toEqual(['x/y)', 'a b'])
  })
})

describe('UI47 completion', () => {
  test('UI47 finds files of the workspace, without ignored ones, and again after a refresh', async () => {
    const files = { '.gitignore': 'dist\n', 'dist/out.js': '', 'src/core/loop.ts': '', 'docs/my file.md': '' }
    const { folder, context } = await scene({ files })
    const list = workspaceFiles({ execution: createProcessContext({ cwd: folder }) })
    expect(list.index).toBeUndefined()
    await list.refresh()
    const found = async (text: string, caret = text.length) => {
      const { index } = list
      const { items, ...range } = (await completionsFor(text, caret, { context, ...(index && { files: index }) })) ?? {}
      return [range, (items ?? []).map((item) => item.text)]
    }
    expect(await found('see @loop')).toEqual([{ from: 4, to: 9 }, ['@src/core/loop.ts ']])
    expect(await found('see @loop now', 7)).toEqual([{ from: 4, to: 9 }, ['@src/core/loop.ts ']])
    expect(await found('@"my f')).toEqual([{ from: 0, to: 6 }, ['@"docs/my file.md" ']])
    expect(await found('@out')).toEqual([{}, []])
    expect((await found('@'))[1]).toEqual([
      '@.gitignore ',
      '@docs/',
      '@src/',
      '@"docs/my file.md" ',
      '@src/core/',
      '@src/core/loop.ts ',
    ])
    writeFileSync(join(folder, 'out.txt'), '')
    await list.refresh()
    expect((await found('@out'))[1]).toEqual(['@out.txt '])
    expect(await found('a@loop')).toEqual([{}, []])
  })

  test('UI47 finds commands by a part of the name, and the values of an argument', async () => {
    const models = [
      { provider: 'p', model: 'sonnet' },
      { provider: 'p', model: 'opus' },
    ]
    const { context } = await scene({ models })
    const found = async (text: string, caret = text.length) => {
      const { items, ...range } = (await completionsFor(text, caret, { context })) ?? {}
      return [range, (items ?? []).map((item) => item.text)]
    }
    expect((await found('/'))[1]).toHaveLength(context.commands.length)
    expect((await found('/mo'))[1]).toEqual(expect.arrayContaining(['/model ', '/mode ']))
    expect((await found('/rwd'))[1]).toEqual(['/rewind '])
    expect(await found('/model o')).toEqual([{ from: 7, to: 8 }, ['p/opus', 'p/sonnet']])
    expect((await found('/mode '))[1]).toEqual(['plan', 'ask', 'allowlist', 'yolo'])
    expect(await found('/quit ')).toEqual([{}, []])
    expect(await found('say /mo')).toEqual([{}, []])
    expect(await found('/tmp/x')).toEqual([{}, []])
  })
})
