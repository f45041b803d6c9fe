import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect } from 'vitest'
import { openSession } from '../../src/cli/sessions/open-session.ts'
import { openStore } from '../../src/cli/sessions/open-store.ts'
import type { Session, SessionStore } from '../../src/core/store.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createSpawnTool } from '../../src/index.ts'
import { createSession, loadSession } from '../../src/sessions/session.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import { testInTurns } from '../soak.ts'
import { openDesk } from './cli-kit.ts'
import { type FakeIo, fakeIo, runLibero } from './fake-io.ts'

const test = testInTurns(2)

const secret = ['sk', 'made', 'up', '1234567890abcdef'].join('-')

interface Home {
  readonly home: string
  readonly cwd: string
  /** A command of its own, as a person types it. */
  libero(
    args: readonly string[],
    more?: { cwd?: string; stdin?: string; io?: Partial<FakeIo> },
  ): ReturnType<typeof runLibero>
  with<T>(work: (store: SessionStore) => Promise<T>): Promise<T>
  /** A session with one prompt and one answer. */
  begun(prompt: string, where?: string): Promise<string>
}

function openHome(): Home {
  const { home, cwd } = fakeIo()
  const path = join(home, 'sessions.db')
  const self: Home = {
    home,
    cwd,
    libero: (args, { cwd: where = cwd, io, ...more } = {}) =>
      runLibero(['sessions', ...args], { ...fakeIo({ home, cwd: where, ...more }), ...io }),
    async with(work) {
      const store = await openStore(path)
      try {
        return await work(store)
      } finally {
        await store.close?.()
      }
    },
    begun: (prompt, where = cwd) =>
      self.with(async (store) => {
        const { session } = await openSession(store, { cwd: where })
        await createAgent({ provider: scripted('Hello.'), session }).run({ prompt })
        return session.id
      }),
  }
  return self
}

/** One that waits for a permission. */
function waiting({ with: using, home, cwd }: Home): Promise<string> {
  return using(async (store) => {
    const { session } = await openSession(store, { cwd })
    await agentOf(session, { home }, [call('1', 'shell', { command: 'rm -rf build\u202e' })], 'Deleted.').run({
      prompt: 'Clean up',
    })
    return session.id
  })
}

function agentOf(
  session: Session,
  { home }: Pick<Home, 'home'>,
  ...script: Parameters<typeof scripted>
): ReturnType<typeof createAgent> {
  const tools = { shell: tool('shell', () => 'gone') }
  return createAgent({ provider: scripted(...script), session, tools, authority: { home, mode: 'ask' } })
}

describe('libero sessions list', () => {
  test('shows the sessions of this folder, newest first, and with --all those of other folders', async () => {
    const desk = openHome()
    const none = await desk.libero([])
    expect([none.code, none.out, none.err]).toEqual([
      0,
      '',
      'There are no sessions yet; begin one with libero "task"\n',
    ])
    const first = await desk.begun('First \x1b[2J')
    const second = await desk.begun(`Second ${secret}`)
    const other = await desk.begun('Elsewhere', '/desk/other')
    const here = await desk.libero([])
    expect(here.out.split('\n')).toEqual([
      `${second}  just now  2 turns  idle  Second [REDACTED:1]`,
      `${first}  just now  2 turns  idle  First [2J`,
      '',
    ])
    const all = await desk.libero(['list', '--all'])
    expect(all.out.split('\n')[0]).toMatch(new RegExp(`^${other}  .*Elsewhere +/desk/other$`))
    const away = await desk.libero([], { cwd: '/desk/nowhere' })
    expect(away.err).toBe(
      'No session was begun in this folder; libero sessions list --all shows those of other folders\n',
    )
  })

  test('--json prints summaries, and --limit shortens them', async () => {
    const desk = openHome()
    await desk.begun('First')
    const second = await desk.begun('Second')
    const json = await desk.libero(['list', '--json'])
    expect(JSON.parse(json.out)).toEqual({
      sessions: [
        expect.objectContaining({ id: second, title: 'Second', status: 'idle', turns: 2, tags: [], folder: desk.cwd }),
        expect.objectContaining({ title: 'First' }),
      ],
    })
    const one = await desk.libero(['-n', '1'])
    expect(one.out.trim().split('\n')).toHaveLength(1)
    expect(one.err).toBe('There are older ones: libero sessions list --limit 4\n')
    const wrong = await desk.libero(['list', '--limit', 'many'])
    expect([wrong.code, wrong.err.split('\n')[0]]).toEqual([
      2,
      'libero: --limit must be a whole number of at least 1, got "many"',
    ])
  })

  test('E08 programs page with --cursor, and filter by status, tag, tenant and attention', async () => {
    const desk = openHome()
    const ids = [await desk.begun('One'), await desk.begun('Two'), await desk.begun('Three')]
    const waits = await waiting(desk)
    await desk.with(async (store) => (await loadSession(store, ids[0]!)).setDetails({ tenant: 'acme' }))
    await desk.with((store) => store.send(ids[1]!, { clientKey: 'k', mode: 'prompt', content: [] }))
    await desk.libero(['tag', ids[2]!, 'release'])
    const page = async (...args: string[]) =>
      JSON.parse((await desk.libero(['list', '--json', ...args])).out) as { sessions: { id: string }[]; next?: string }
    const found = async (...args: string[]) => (await page(...args)).sessions.map(({ id }) => id)
    const first = await page('--limit', '3')
    const second = await page('--limit', '3', '--cursor', first.next!)
    expect([first.sessions.length, second.sessions.length, second.next]).toEqual([3, 1, undefined])
    expect([...first.sessions, ...second.sessions].map(({ id }) => id).sort()).toEqual([...ids, waits].sort())
    expect(await found('--status', 'waiting', '--status', 'failed')).toEqual([waits])
    expect(await found('--tag', 'release')).toEqual([ids[2]])
    expect(await found('--tenant', 'acme')).toEqual([ids[0]])
    expect(await found('--attention')).toEqual([ids[1]])
    expect((await desk.libero(['--attention'])).out).toContain('has messages, resume it')
    expect((await desk.libero(['--tag', 'none'])).err).toBe('No session matches\n')
    const wrong = await desk.libero(['list', '--cursor', 'x'])
    expect([wrong.code, wrong.err.split('\n')[0]]).toEqual([
      2,
      'libero: --cursor must be the "next" of the page before',
    ])
    const tooMany = await desk.libero(['list', '--limit', '5000'])
    expect([tooMany.code, tooMany.err]).toEqual([2, expect.stringContaining('--limit can be at most 1000')])
  })

  test('a session that has only details is listed, those of agents and schedules are not', async () => {
    const desk = openHome()
    await desk.with(async (store) => {
      await (await createSession({ store, id: 'bare', folder: desk.cwd, title: 'Planned' })).save()
      await (await createSession({ store, id: 'agent-1', folder: desk.cwd })).save()
      await (await createSession({ store, id: 'libero.schedules', folder: desk.cwd })).save()
    })
    expect((await desk.libero([])).out).toBe('bare  just now  0 turns  empty  Planned\n')
    expect((await desk.libero(['list', '--all'])).out.split('\n')).toHaveLength(2)
  })

  test('SE-03 no title contains a secret of the environment or its beginning, in a table or in JSON', async () => {
    const desk = openHome()
    const env = { HOUSE_TOKEN: 'blue-door-77-and-a-long-way-home' }
    await desk.begun(`Knock at the house with the words ${env.HOUSE_TOKEN}`)
    await desk.begun(`${'Walk on. '.repeat(20)} ${env.HOUSE_TOKEN}`) // the title ends within the secret
    for (const args of [[], ['list', '--json']]) {
      const { out } = await desk.libero(args, { io: { env } })
      expect(out).toMatch(/Knock at the house with the words \[REDACTED:1\]/)
      expect(out).not.toContain('blue')
    }
  })

  test('FD-11 a damaged session does not hide others', async () => {
    const desk = openHome()
    const [good, bad] = [await desk.begun('Hello'), await waiting(desk)]
    const database = new DatabaseSync(join(desk.home, 'sessions.db'))
    database.exec(`UPDATE entries SET body = '{}' WHERE session = (SELECT key FROM sessions WHERE id = '${bad}')`)
    database.close()
    const { code, out } = await desk.libero([])
    expect([code, out.split('\n').length]).toEqual([0, 3])
    expect(out).toMatch(new RegExp(`^${bad}`, 'm'))
    expect(out).toMatch(new RegExp(`^${good}.*idle +Hello$`, 'm'))
    expect((await desk.libero(['delete', bad, '--yes'])).err).toBe(`Deleted ${bad}\n`)
  })

  test('distinguishes sessions that work in another process from interrupted ones', async () => {
    const desk = openHome()
    const id = await desk.begun('Hello')
    await desk.with(async (store) => {
      const session = await loadSession(store, id)
      await session.open()
      await session.log.append({ type: 'run_started', runId: 'r', model: 'm' })
      expect((await desk.libero([])).out).toContain('working elsewhere')
      const refused = await desk.libero(['delete', id, '--yes'])
      expect([refused.code, refused.err]).toEqual([
        1,
        `libero: Session ${id} is being written by another program; stop that first. Nothing was deleted\n`,
      ])
      await session.release()
    })
    expect((await desk.libero([])).out).toContain('interrupted')
  })
})

describe('libero sessions show', () => {
  test('UI-01 shows messages and tool calls, without their escape sequences', async () => {
    const desk = openHome()
    const id = await desk.with(async (store) => {
      const { session } = await openSession(store, { cwd: desk.cwd })
      const tools = { shell: tool('shell', () => `\x1b[31mred\x1b[0m\x1b]52;c;eA==\x07\n${'line\n'.repeat(20)}`) }
      const provider = scripted([call('1', 'shell', { command: 'ls \x1b[8m' })], 'Done \x1b[2J \x9b31m\u202e')
      await createAgent({ provider, session, tools }).run({ prompt: 'Look' })
      return session.id
    })
    const { code, out } = await desk.libero(['show', id.slice(0, 8)])
    expect(code).toBe(0)
    expect(out).toContain('• shell ls ␛[8m\n    red␛]52;c;eA==\\x07\n    line\n')
    expect(out).toContain('… 13 more lines (--full)')
    expect(out).toContain('Done ␛[2J')
    expect(out.includes('\x1b')).toBe(false)
    expect((await desk.libero(['show', id, '--full'])).out.match(/line\n/g)).toHaveLength(20)
    const json = (await desk.libero(['show', id, '--json'])).out
    expect(JSON.parse(json)).toMatchObject({
      id,
      parts: [{}, {}, { content: [{ text: 'Done \x1b[2J \x9b31m\u202e' }] }],
    })
    expect(['\x1b', '\x9b', '\u202e'].filter((sign) => json.includes(sign))).toEqual([])
  })

  test('sub-agents are shown under their call, or at the end if that call was undone', async () => {
    const desk = openHome()
    const id = await desk.with(async (store) => {
      const { session } = await openSession(store, { cwd: desk.cwd })
      const provider = scripted([call('1', 'spawn', { task: 'Dig for me' })], 'Dug.', 'Done.')
      await createAgent({ provider, session, tools: { spawn: createSpawnTool() } }).run({ prompt: 'Look' })
      return session.id
    })
    expect((await desk.libero(['show', id])).out).toMatch(
      /• spawn [\s\S]* {2}sub-agent Dig for me[\s\S]*│ Dug\.[\s\S]*Done\./,
    )
    await desk.with(async (store) => (await loadSession(store, id)).rewind(1))
    const { out } = await desk.libero(['show', id])
    expect(out).not.toContain('• spawn')
    expect(out).toMatch(/sub-agent Dig for me[\s\S]*│ Dug\./)
  })

  test('a missing or wrong id means one message', async () => {
    const desk = openHome()
    const id = await desk.begun('Hello')
    const missing = await desk.libero(['show'])
    expect([missing.code, missing.err.split('\n')[0]]).toEqual([
      2,
      'libero: sessions show needs the id of a session; libero sessions lists them',
    ])
    const wrong = await desk.libero(['show', `${id.slice(0, -1)}`.replace(/^./, 'x')])
    expect(wrong.err).toContain(`(did you mean ${id}?)`)
  })

  test('prints the messages that wait with a call, and what the session needs', async () => {
    const desk = openHome()
    const id = await waiting(desk)
    const content = [{ type: 'text' as const, text: 'And then\u202e go on' }]
    await desk.with((store) => store.send(id, { clientKey: 'k', mode: 'followUp', content }))
    const { out, err } = await desk.libero(['show', id])
    expect(out).toContain('\nSent: read when the run goes on\nAnd then\\u202e go on\n')
    expect(err).toBe(`It waits for you: libero sessions answer ${id}\n`)
    expect(JSON.parse((await desk.libero(['show', id, '--json'])).out).waiting).toMatchObject([{ content }])
    expect((await desk.libero([])).out).toContain('waits for you')
  })
})

describe('libero sessions answer', () => {
  test('shows exactly what waits, and the next run uses the answer', async () => {
    const desk = openHome()
    const id = await waiting(desk)
    expect((await desk.libero([])).out).toContain('waits for you')
    const shown = await desk.libero(['answer', id])
    expect(shown.out).toMatch(/^1 {2}shell waits for a decision\n {4}asked because: .*\n {4}\{/)
    expect(shown.out).toContain('\n    {\n      "command": "rm -rf build\\u202e"\n    }\n')
    const given = await desk.libero(['answer', id, 'allow'])
    expect([given.code, given.err]).toEqual([
      0,
      `Allowed, for this once: shell (1); continue with: libero sessions resume ${id}\n`,
    ])
    expect((await desk.libero([])).out).toContain('answered, resume it')
    const again = await desk.libero(['answer', id, 'deny'])
    expect([again.code, again.err]).toEqual([1, `Session ${id} waits for nothing\n`])
    await desk.with(async (store) => {
      const session = await loadSession(store, id)
      expect((await agentOf(session, desk, 'Deleted.').run()).text).toBe('Deleted.')
    })
    expect((await desk.libero(['show', id])).out).toContain('Allowed by user')
  })

  test('the model receives a refusal with its reason', async () => {
    const desk = openHome()
    const id = await waiting(desk)
    const given = await desk.libero(['answer', id, '1', 'deny', '--note', 'keep it'])
    expect(given.err).toContain('Refused: shell (1)')
    const said = await desk.with(async (store) => {
      const session = await loadSession(store, id)
      await agentOf(session, desk, 'I left it.').run()
      return texts(session.turns)
    })
    expect(said.join('\n')).toContain('keep it')
    expect(said.join('\n')).not.toContain('gone')
  })

  test('calls of sub-agents with the same id are distinguished by their session', async () => {
    const desk = openHome()
    const id = await desk.with(async (store) => {
      const { session } = await openSession(store, { cwd: desk.cwd })
      const tools = { shell: tool('shell', () => 'gone'), spawn: createSpawnTool() }
      const tasks = ['1', '2'].map((one) => call(one, 'spawn', { task: `Clean ${one}` }))
      const children = () => [call('same', 'shell', { command: 'rm -rf build' })]
      const authority = { home: desk.home, mode: 'ask' as const, allow: ['spawn'] }
      await createAgent({ provider: scripted(tasks, children, children), session, tools, authority }).run({
        prompt: 'Go',
      })
      return session.id
    })
    const waits = JSON.parse((await desk.libero(['answer', id, '--json'])).out) as { sessionId: string }[]
    const owners = waits.map(({ sessionId }) => sessionId)
    expect([owners.length, new Set(owners).size]).toEqual([2, 2])
    const shown = (await desk.libero(['answer', id])).out
    for (const owner of owners) expect(shown).toContain(`same  shell waits for a decision (of ${owner})`)
    const unclear = await desk.libero(['answer', id, 'same', 'allow'])
    expect([unclear.code, unclear.err]).toEqual([1, expect.stringContaining(owners.join(', '))])
    expect((await desk.libero(['answer', owners[1]!, 'same', 'deny'])).code).toBe(0)
    const left = JSON.parse((await desk.libero(['answer', id, '--json'])).out) as { sessionId: string }[]
    expect(left.map(({ sessionId }) => sessionId)).toEqual([owners[0]])
  })

  test('invalid arguments are refused', async () => {
    const desk = openHome()
    const id = await waiting(desk)
    const answers = await Promise.all(
      [
        ['9', 'allow'],
        ['1', 'maybe'],
        ['--text', 'blue'],
        ['--note', 'x'],
        ['allow', '--text', 'x'],
      ].map((words) => desk.libero(['answer', id, ...words])),
    )
    expect(answers.map(({ code, err }) => [code, err.split('\n')[0]])).toEqual([
      [1, 'libero: No call "9" waits for an answer; waiting: 1 (shell)'],
      [2, 'libero: sessions answer takes allow or deny, got "maybe"'],
      [2, 'libero: shell waits for a decision; say allow or deny'],
      [2, 'libero: --note needs allow or deny; add one of them'],
      [2, 'libero: --text answers a question, allow and deny decide about a call; give one of them'],
    ])
  })

  test('a question of a tool is answered with a text', async () => {
    const desk = openHome()
    const paint = tool('paint', (_input: unknown, ctx: { answer?: unknown; suspend(reason: string): never }) =>
      ctx.answer === undefined ? ctx.suspend('Which colour?') : `painted ${JSON.stringify(ctx.answer)}`,
    )
    const id = await desk.with(async (store) => {
      const { session } = await openSession(store, { cwd: desk.cwd })
      await createAgent({ provider: scripted([call('1', 'paint')], 'Done.'), session, tools: { paint } }).run({
        prompt: 'Paint it',
      })
      return session.id
    })
    expect((await desk.libero(['answer', id])).out).toContain('1  paint asks: Which colour?')
    expect((await desk.libero(['answer', id, 'allow'])).err).toContain(
      'paint asked a question; answer it with --text "…"',
    )
    expect((await desk.libero(['answer', id, '--text', 'blue'])).code).toBe(0)
    const said = await desk.with(async (store) => {
      const session = await loadSession(store, id)
      await createAgent({ provider: scripted('Done.'), session, tools: { paint } }).run()
      return texts(session.turns).join('\n')
    })
    expect(said).toContain('blue')
  })
})

test('libero sessions fork prints the id of a copy, up to a given entry', async () => {
  const desk = openHome()
  const id = await desk.begun('Hello')
  const { out } = await desk.libero(['fork', id])
  const copy = out.trim()
  expect(copy).not.toBe(id)
  expect(await desk.with(async (store) => texts((await loadSession(store, copy)).turns))).toEqual([
    'user: Hello',
    'assistant: Hello.',
  ])
  const early = (await desk.libero(['fork', id, '--at', '1'])).out.trim()
  expect(await desk.with(async (store) => (await loadSession(store, early)).turns)).toHaveLength(0)
  const far = await desk.libero(['fork', id, '--at', '999'])
  expect([far.code, far.err]).toEqual([2, expect.stringMatching(/has \d+ entries; --at cannot be 999/)])
})

describe('libero sessions export and import', () => {
  test('the format follows the name of the file; an existing file is not overwritten by mistake', async () => {
    const desk = openHome()
    const id = await desk.begun('Hello')
    for (const [file, begins] of [
      ['s.html', '<!doctype html>'],
      ['s.md', '# Hello'],
      ['s.jsonl', '{"libero":"session"'],
    ] as const) {
      const { code, err } = await desk.libero(['export', id, '-o', file])
      expect([code, err]).toEqual([0, `Wrote ${file}\n`])
      expect(readFileSync(join(desk.cwd, file), 'utf8').startsWith(begins)).toBe(true)
      expect(statSync(join(desk.cwd, file)).mode & 0o777).toBe(0o600)
    }
    const again = await desk.libero(['export', id, '-o', 's.md'])
    expect([again.code, again.err]).toEqual([
      1,
      'libero: s.md exists already; choose another name, or replace it with --force\n',
    ])
    symlinkSync('/desk/nowhere', join(desk.cwd, 'link.md'))
    expect((await desk.libero(['export', id, '-o', 'link.md'])).code).toBe(1)
    expect((await desk.libero(['export', id, '-o', 's.md', '--force'])).code).toBe(0)
    expect((await desk.libero(['export', id])).out.startsWith('# Hello')).toBe(true)
    expect((await desk.libero(['export', id, '-f', 'html'])).out.startsWith('<!doctype html>')).toBe(true)
  })

  test('SE-03 exports contain no secrets, and the page loads nothing from elsewhere', async () => {
    const desk = openHome()
    const id = await desk.begun(`<img src=x onerror=alert(1)> my key is ${secret}, and HOUSE_TOKEN is blue-door-77`)
    const env = { HOUSE_TOKEN: 'blue-door-77' }
    for (const format of ['md', 'html', 'jsonl']) {
      const { out } = await desk.libero(['export', id, '-f', format], { io: { env } })
      expect(out).toContain('[REDACTED:')
      for (const one of [secret, 'blue-door-77']) expect(out).not.toContain(one)
    }
    expect((await desk.libero(['export', id, '-f', 'jsonl', '--with-secrets'])).out).toContain(secret)
  })

  test('an exported session can be imported, under its own id or a new one', async () => {
    const desk = openHome()
    const id = await desk.begun('Hello')
    await desk.libero(['export', id, '-o', 's.jsonl'])
    const copy = await desk.libero(['import', 's.jsonl'])
    expect(copy.err).toBe(`There is a session ${id} already; this one is called ${copy.out.trim()}\n`)
    await desk.libero(['delete', id, '--yes'])
    expect((await desk.libero(['import', '-'], { stdin: readFileSync(join(desk.cwd, 's.jsonl'), 'utf8') })).out).toBe(
      `${id}\n`,
    )
    expect(await desk.with(async (store) => texts((await loadSession(store, id)).turns))).toEqual([
      'user: Hello',
      'assistant: Hello.',
    ])
  })

  test.each([
    [
      'claude-code',
      [
        {
          type: 'user',
          uuid: 'u1',
          parentUuid: null,
          sessionId: 'c',
          cwd: '/desk/shop',
          message: { role: 'user', content: 'Hi' },
        },
      ],
    ],
    [
      'codex',
      [
        {
          timestamp: '2026-03-04T05:06:07.000Z',
          type: 'session_meta',
          payload: { id: 'co', timestamp: '2026-03-04T05:06:00.000Z', cwd: '/desk/shop' },
        },
        {
          timestamp: '2026-03-04T05:06:07.000Z',
          type: 'response_item',
          payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        },
      ],
    ],
    [
      'pi',
      [
        { type: 'session', version: 3, id: 'pi', timestamp: '2026-02-03T04:05:06.000Z', cwd: '/desk/shop' },
        {
          type: 'message',
          id: 'm',
          parentId: null,
          timestamp: '2026-02-03T04:06:00.000Z',
          message: { role: 'user', content: 'Hi', timestamp: 1 },
        },
      ],
    ],
  ])(
    'a session of %s is recognized by its content, and belongs to the folder where it started',
    async (program, lines) => {
      const desk = openHome()
      writeFileSync(join(desk.cwd, 'theirs.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      for (const args of [
        ['import', 'theirs.jsonl'],
        ['import', 'theirs.jsonl', '--from', program],
      ]) {
        const { code, out } = await desk.libero(args)
        expect(code).toBe(0)
        const session = await desk.with((store) => loadSession(store, out.trim()))
        expect(texts(session.turns)).toEqual(['user: Hi'])
      }
      const listed = await desk.libero(['list', '--json'], { cwd: '/desk/shop' })
      expect(JSON.parse(listed.out).sessions).toHaveLength(2)
    },
  )

  test('a file that is not a session is refused, and nothing is stored', async () => {
    const desk = openHome()
    writeFileSync(join(desk.cwd, 'notes.txt'), 'dear diary\nhello\n')
    writeFileSync(join(desk.cwd, 'empty.jsonl'), `${JSON.stringify({ type: 'session', id: 'pi', cwd: '/desk' })}\n`)
    const said = await Promise.all(
      [['notes.txt'], ['nothing.jsonl'], ['.'], ['empty.jsonl'], ['notes.txt', '--from', 'libero']].map((words) =>
        desk.libero(['import', ...words]),
      ),
    )
    expect(said.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1])
    const [notes, nothing, folder, empty] = said.map(({ err }) => err)
    expect(notes).toContain('notes.txt is not a session of Libero, Claude Code, Codex or pi')
    expect(nothing).toBe('libero: nothing.jsonl cannot be imported: there is no such file\n')
    expect(folder).toBe('libero: . cannot be imported: it is a folder\n')
    expect(empty).toBe('libero: empty.jsonl cannot be imported: there are no messages in it\n')
    expect(JSON.parse((await desk.libero(['list', '--all', '--json'])).out)).toEqual({ sessions: [] })
  })

  test.each(['a\x1b[2J', '-rf', '../a', 'a b'])('an id that cannot be typed is replaced: %j', async (name) => {
    const desk = openHome()
    const lines = (await desk.libero(['export', await desk.begun('Hello'), '-f', 'jsonl'])).out.split('\n')
    const head = { ...(JSON.parse(lines[0]!) as object), id: name }
    const { code, out, err } = await desk.libero(['import', '-'], {
      stdin: [JSON.stringify(head), ...lines.slice(1)].join('\n'),
    })
    expect([code, out]).toEqual([0, expect.stringMatching(/^[a-z]{6}-[a-z]{6}\n$/)])
    expect(err).toContain(`it is called ${out.trim()} here`)
    expect(err.includes('\x1b')).toBe(false)
  })

  test('UI-01 an error that quotes the file sends no control characters to the terminal', async () => {
    const desk = openHome()
    writeFileSync(join(desk.cwd, 'a.jsonl'), '\x1b]0;owned\x07{')
    const { code, err } = await desk.libero(['import', 'a.jsonl', '--from', 'libero'])
    expect([code, err.includes('owned'), err.includes('\x1b'), err.includes('\x07')]).toEqual([1, true, false, false])
  })
})

describe('libero sessions rename and tag', () => {
  test('set what the list shows', async () => {
    const desk = openHome()
    const id = await desk.begun('Hello')
    const renamed = await desk.libero(['rename', id.slice(0, 8), 'The', 'login page'])
    expect([renamed.code, renamed.err]).toEqual([0, `${id} is now called "The login page"\n`])
    expect((await desk.libero(['tag', id, 'web', 'keep'])).out).toBe('web\nkeep\n')
    expect((await desk.libero(['tag', id, 'web', 'later'])).out).toBe('web\nkeep\nlater\n')
    expect((await desk.libero(['tag', id, 'keep', '--remove'])).out).toBe('web\nlater\n')
    expect((await desk.libero(['tag', id])).out).toBe('web\nlater\n')
    expect((await desk.libero([])).out).toMatch(/The login page {2}#web #later$/m)
    expect(await desk.with(async (store) => texts((await loadSession(store, id)).turns))).toHaveLength(2)
  })

  test('a missing title, no tag to remove and a session in use are refused', async () => {
    const desk = openHome()
    const id = await desk.begun('Hello')
    expect((await desk.libero(['rename', id])).err).toContain('sessions rename needs the new title')
    expect((await desk.libero(['tag', id, '--remove'])).err).toContain('name the tags to remove')
    expect((await desk.libero(['tag', id, ''])).err).toContain('a tag cannot be empty')
    await desk.with(async (store) => {
      const session = await loadSession(store, id)
      await session.open()
      const refused = await desk.libero(['rename', id, 'Other'])
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is being written by another program')])
      await session.release()
    })
  })
})

describe('libero sessions delete', () => {
  test('T10 needs a confirmation, by a person or by the flag, and shows the number of turns', async () => {
    const desk = openHome()
    const [one, two] = [await desk.begun('One'), await desk.begun('Two')]
    const silent = await desk.libero(['delete', one])
    expect([silent.code, silent.err.split('\n')[0]]).toEqual([
      2,
      'libero: sessions delete asks before it deletes, and there is no terminal to ask on; add --yes',
    ])
    const typed = (answer: string): Partial<FakeIo> => {
      const stderr = Object.assign(new PassThrough().resume(), { isTTY: true })
      return { stdin: Object.assign(Readable.from([`${answer}\n`]), { isTTY: true }), stderr }
    }
    const no = await desk.libero(['delete', one, two], { io: typed('') })
    expect([no.code, no.err]).toEqual([0, expect.stringContaining('Nothing was deleted')])
    expect(no.err).toContain(`${one}  2 turns  One`)
    const unknown = await desk.libero(['delete', one, 'nobody', '--yes'])
    expect(unknown.code).toBe(1)
    expect(JSON.parse((await desk.libero(['list', '--json'])).out).sessions).toHaveLength(2)
    const yes = await desk.libero(['delete', one], { io: typed('y') })
    expect(yes.err).toContain(`Deleted ${one}`)
    expect(JSON.parse((await desk.libero(['list', '--json'])).out)).toMatchObject({ sessions: [{ id: two }] })
  })
})

test('a run that ended for lack of an approval is found, allowed, continued, exported and deleted', async () => {
  const desk = openDesk()
  desk.write('old.txt', 'x')
  const run = await desk.libero(['--provider', 'offline', 'run rm old.txt'])
  expect(run.code).toBe(3)
  const listed = await desk.libero(['sessions', '--json'])
  const { sessions } = JSON.parse(listed.out) as { sessions: [{ id: string; status: string }] }
  const [{ id, status }] = sessions
  expect(status).toBe('waiting')
  expect((await desk.libero(['sessions', 'answer', id, 'allow'])).code).toBe(0)
  expect(existsSync(join(desk.cwd, 'old.txt'))).toBe(true)
  const resumed = await desk.libero(['sessions', 'resume', id.slice(0, 9)])
  expect(resumed.code).toBe(0)
  expect(existsSync(join(desk.cwd, 'old.txt'))).toBe(false)
  expect((await desk.libero(['sessions', 'export', id, '-o', 'session.html'])).code).toBe(0)
  const page = readFileSync(join(desk.cwd, 'session.html'), 'utf8')
  expect(page.startsWith('<!doctype html>')).toBe(true)
  expect(page).toContain('rm old.txt')
  expect((await desk.libero(['sessions', 'delete', id, '-y'])).code).toBe(0)
  expect((await desk.libero(['sessions'])).err).toContain('There are no sessions yet')
}, 60_000)
