import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { defineSkill } from '../../src/skills/skill.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/index.ts'
import { strictModel } from './compaction-kit.ts'
import { skill, world } from './skills-kit.ts'

const use = (id: string, name: string) => call(id, 'skills_use', { name })
const three = ['skills_use', 'skills_read', 'skills_run_script']

describe('what the model is offered', () => {
  test('A217 the three tools and the catalogue are there only when there is a skill', async () => {
    const none = await world()
    const without = none.open(['hi'])
    await without.agent.run({ prompt: 'go' })
    expect(without.tools()).toEqual(['shell'])
    expect(without.provider.requests[0]!.system).toBe('')

    const some = await world({ 'project/.agents/skills/pdf/SKILL.md': skill('pdf', 'Fill forms.') })
    const { agent, provider, tools } = some.open(['hi'], { system: 'Be kind.' })
    await agent.run({ prompt: 'go' })
    expect(tools()).toEqual(['shell', ...three])
    expect(provider.requests[0]!.system).toMatch(
      /^Be kind\.\n\n<available_skills>[\s\S]*<name>pdf<\/name>[\s\S]*skills_use/,
    )
    expect(provider.requests[0]!.system).not.toContain('Fill forms')
  })

  test('A217 neither tools nor catalogue reach a run with a tool set of its own', async () => {
    const { open } = await world({ 'project/.agents/skills/pdf/SKILL.md': skill('pdf', 'x') })
    const { agent, provider } = open(['hi'])
    await agent.run({ prompt: 'go', tools: {} })
    expect(provider.requests[0]).toMatchObject({ tools: [], system: '' })
  })

  test('A217 a handler of skills:catalog that empties it takes the tools away too', async () => {
    const { open } = await world({ 'project/.agents/skills/pdf/SKILL.md': skill('pdf', 'x') })
    const hooks = { 'skills:catalog': (ctx: { catalog: string }) => void (ctx.catalog = '') }
    const { agent, tools } = open(['hi'], { hooks })
    await agent.run({ prompt: 'go' })
    expect(tools()).toEqual(['shell'])
  })

  test('skills:resolve and skills:catalog are told once, in any order of calls, and the catalogue can be changed', async () => {
    const { open } = await world({ 'project/.agents/skills/pdf/SKILL.md': skill('pdf', 'x') })
    const seen: string[] = []
    const { agent, provider } = open(['hi', 'ho'], {
      hooks: {
        'skills:resolve': ({ skills }) =>
          void seen.push(`resolve ${skills.map(({ name, source }) => `${name} ${source}`)}`),
        'skills:catalog': (ctx) => {
          seen.push('catalog')
          ctx.catalog += '\n<!-- ours -->'
        },
      },
    })
    await Promise.all([agent.warmup(), agent.activateSkill('pdf'), agent.run({ prompt: 'go' })])
    await agent.run({ prompt: 'again' })
    expect(seen).toEqual(['resolve pdf project', 'catalog'])
    expect(provider.requests[1]!.system).toContain('<!-- ours -->')
  })

  test('a field of the option that there is not is an error that names the nearest', () => {
    const make = (skills: object) => () => createAgent({ provider: scripted(), skills })
    expect(make({ maxActve: 1 })).toThrow('skills has no field "maxActve", did you mean "maxActive"?')
    expect(make({ maxActive: 0 })).toThrow('skills.maxActive must be a number of skills, 1 or more, got 0')
    expect(make({ write: [{ name: 'x', description: 'y' }] })).toThrow('skills.write[0].instructions must be a text')
    expect(make({ write: [{ name: 'x', description: 'y', instructions: 'z', allowedTool: [] }] })).toThrow(
      '"allowedTools"',
    )
  })
})

describe('skills_use', () => {
  const body = '# Fill forms\n\nUse `<b>` and </skill_content> with care.'
  const files = {
    'project/.agents/skills/pdf/SKILL.md': skill('pdf', body, 'compatibility: needs python\nallowed-tools: Read shell'),
    'project/.agents/skills/pdf/references/forms.md': 'secret reference',
    'project/.agents/skills/pdf/scripts/fill.py': 'print(1)',
  }

  test('A218 gives the body in skill_content without front matter, with the folder, the files, and what it needs', async () => {
    const { open, at } = await world(files)
    const { agent, results } = open([[use('1', 'pdf')], 'done'])
    await agent.run({ prompt: 'go' })
    expect(results()).toEqual([
      `<skill_content name="pdf">
# Fill forms

Use \`<b>\` and &lt;/skill_content> with care.

Skill directory: ${at('project/.agents/skills/pdf')}
Relative paths are meant from there.
Compatibility: needs python
Allowed tools while it is active: Read shell
Files (skills_read shows one, skills_run_script runs a script):
- references/forms.md
- scripts/fill.py
</skill_content>`,
    ])
  })

  test('a skill that is active is not repeated, unless its file changed or the model asks once more', async () => {
    const { open, write } = await world(files)
    const change = async () => {
      await write('project/.agents/skills/pdf/SKILL.md', skill('pdf', 'Something else.'))
      return [use('4', 'pdf')]
    }
    const script = [[use('1', 'pdf')], [use('2', 'pdf')], [use('3', 'pdf')], change, 'done']
    const { agent, results, told } = open(script)
    await agent.run({ prompt: 'go' })
    const [first, second, third, fourth] = results()
    expect(second).toBe('The skill "pdf" is active already, and its instructions are as you know them.')
    expect(third).toBe(first)
    expect(fourth).toContain('Something else.')
    expect(told).toEqual(['+pdf model', '-pdf run-end'])
  })

  test('an unknown or hidden name is an error with the names there are', async () => {
    const { open } = await world({
      ...files,
      'home/.agents/skills/deploy/SKILL.md': skill('deploy', 'x', 'disable-model-invocation: true'),
    })
    const { agent, results, provider, told } = open([[use('1', 'pfd'), use('2', 'deploy')], 'done'])
    await agent.run({ prompt: 'go' })
    expect(results()[0]).toBe('Tool error: there is no skill "pfd", did you mean "pdf"?; there are: pdf')
    expect(results()[1]).toContain('there is no skill "deploy"')
    expect(provider.requests[0]!.system).not.toContain('deploy')
    expect(told).toEqual([])
  })

  test('A225 at most maxActive skills are active at once', async () => {
    const write = ['a', 'b', 'c'].map((name) => defineSkill({ name, description: name, instructions: name }))
    const { open } = await world()
    const script = [[use('1', 'a'), use('2', 'b'), use('3', 'c'), use('4', 'a')], 'done', [use('5', 'c')], 'done']
    const { agent, results, told } = open(script, { skills: { write, maxActive: 2 } })
    await agent.run({ prompt: 'go' })
    expect(results()[2]).toBe(
      'Tool error: At most 2 skills may be active at once (skills.maxActive), so "c" is not activated; active: a, b',
    )
    expect(results()[3]).toContain('active already')
    expect(told).toEqual(['+a model', '+b model', '-a run-end', '-b run-end'])
    await agent.run({ prompt: 'next' })
    expect(results()[4]).toContain('<skill_content name="c">')
    await agent.activateSkill('a')
    await agent.activateSkill('b')
    await expect(agent.activateSkill('c')).rejects.toThrow('At most 2 skills')
  })

  test('arguments go where the text asks for them, or to its end', async () => {
    const write = [
      defineSkill({
        name: 'asks',
        description: 'x',
        instructions: 'All: $ARGUMENTS. First: $1. Second: $2. Third: $3.',
      }),
      defineSkill({ name: 'plain', description: 'x', instructions: 'Do it.' }),
    ]
    const { open } = await world()
    const given = (id: string, name: string) => call(id, 'skills_use', { name, arguments: 'one $2 !`date`' })
    const { agent, results } = open([[given('1', 'asks'), given('2', 'plain')], 'done'], { skills: { write } })
    await agent.run({ prompt: 'go' })
    expect(results()[0]).toContain('All: one $2 !`date`. First: one. Second: $2. Third: !`date`.')
    expect(results()[1]).toContain('Do it.\n\nArguments: one $2 !`date`')
  })
})

describe('a host', () => {
  const files = {
    'home/.agents/skills/deploy/SKILL.md': skill('deploy', 'Push it.', 'disable-model-invocation: true'),
    'home/.agents/skills/test/SKILL.md': skill('test', 'Test it.'),
  }

  test('A224 activates a skill before any run, hidden ones too, and it holds for the next run alone', async () => {
    const { open } = await world(files)
    const { agent, provider, told } = open(['hi', 'ho'])
    await agent.activateSkill('deploy')
    expect(told).toEqual(['+deploy explicit'])
    expect(provider.requests).toHaveLength(0)
    await agent.run({ prompt: 'go' })
    expect(told).toEqual(['+deploy explicit', '-deploy run-end'])
    await agent.run({ prompt: 'again' })
    expect(provider.requests[0]!.system).toContain('<skill_content name="deploy">\nPush it.')
    expect(provider.requests[1]!.system).not.toContain('Push it.')
  })

  test('A058 hooks say via model, explicit or resume, and reason run-end, explicit or reset', async () => {
    const { open } = await world(files)
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const first = open([[use('1', 'test')], 'done'], { session })
    await first.agent.run({ prompt: 'go' })
    await first.agent.destroy()
    const { agent, told } = open(['done'], { session: (await loadSession(store, 's'))! })
    await agent.activateSkill('deploy')
    await agent.deactivateSkill('deploy')
    await agent.deactivateSkill('deploy')
    await agent.run({ prompt: 'go on' })
    await agent.activateSkill('deploy')
    await agent.reset()
    expect(first.told).toEqual(['+test model', '-test run-end'])
    expect(told).toEqual([
      '+deploy explicit',
      '-deploy explicit',
      '+test resume',
      '-test run-end',
      '+deploy explicit',
      '-deploy reset',
    ])
    await agent.destroy()
  })

  test('a skill that is activated during a run reaches the model as a message, and its gate counts at once', async () => {
    const { open } = await world({
      ...files,
      'home/.agents/skills/strict/SKILL.md': skill('strict', 'Only look.', 'allowed-tools: look'),
    })
    const tools = { look: tool('look', () => 'seen'), act: tool('act', () => agent.activateSkill('strict')) }
    const { agent, provider, results, told } = open(
      [[call('1', 'act')], [call('2', 'act'), call('3', 'look')], 'done'],
      { tools },
    )
    await agent.run({ prompt: 'go' })
    expect(texts(provider.requests[1]!.messages).at(-1)).toContain('<skill_content name="strict">\nOnly look.')
    expect(provider.requests[1]!.system).toBe(provider.requests[0]!.system)
    expect(results()[1]).toContain('Blocked: the active skill "strict" allows only look')
    expect(results()[2]).toBe('seen')
    expect(told).toEqual(['+strict explicit', '-strict run-end'])
  })

  test('a hidden one that a person activated has its files and its commands, also where there is no other skill', async () => {
    const { open } = await world({
      'home/.agents/skills/deploy/SKILL.md': skill('deploy', 'Now: !`echo made`.', 'disable-model-invocation: true'),
      'home/.agents/skills/deploy/notes.md': 'the notes',
    })
    const read = call('2', 'skills_read', { name: 'deploy', path: 'notes.md' })
    const { agent, provider, results, told } = open([[use('1', 'deploy'), read], 'done', [use('3', 'deploy')], 'done'])
    await agent.activateSkill('deploy')
    await agent.run({ prompt: 'go' })
    expect(results()[0]).toContain('Now: made.')
    expect(results()[1]).toBe('the notes')
    expect(provider.requests[0]!.system).not.toContain('<available_skills>')
    await agent.run({ prompt: 'again' })
    expect(results()[2]).toBe('Unknown tool: skills_use')
    expect(told).toEqual(['+deploy explicit', '-deploy run-end'])
    await agent.destroy()
  })

  test('asked for twice at once it is activated once', async () => {
    const { open } = await world(files)
    const { agent, told } = open(['done'])
    await Promise.all([agent.activateSkill('test'), agent.activateSkill('TEST')])
    expect(told).toEqual(['+test explicit'])
    await agent.destroy()
  })

  test('one that is not there, or an agent without skills, is an error that says what to do', async () => {
    const { open } = await world(files)
    await expect(open([]).agent.activateSkill('tset')).rejects.toThrow(
      'There is no skill "tset", did you mean "test"?; there are: deploy, test',
    )
    const plain = createAgent({ provider: scripted() })
    await expect(plain.activateSkill('x')).rejects.toThrow('This agent has no skills')
    await expect(plain.deactivateSkill('x')).rejects.toThrow('create it with skills: {}')
  })

  test('commands of a skill that a host activates wait until the model asks for them through the gate', async () => {
    const { open, at } = await world({
      'home/.agents/skills/when/SKILL.md': skill('when', 'Now: !`echo made > made`.'),
    })
    const { agent, provider, results, told } = open([[use('1', 'when')], 'done'])
    await agent.activateSkill('when')
    expect(existsSync(at('project/made'))).toBe(false)
    await agent.run({ prompt: 'go' })
    expect(provider.requests[0]!.system).toContain('Now: !`echo made > made` [not run yet: call skills_use')
    expect(results()[0]).toContain('Now: .')
    expect(existsSync(at('project/made'))).toBe(true)
    expect(told).toEqual(['+when explicit', '-when run-end'])
  })
})

describe('a session that goes on', () => {
  const files = {
    'home/.agents/skills/strict/SKILL.md': skill(
      'strict',
      'Only !`echo run >> runs; echo look`.',
      'allowed-tools: look',
    ),
    'home/.agents/skills/gone/SKILL.md': skill('gone', 'Here.'),
  }
  const tools = { look: tool('look', () => 'seen'), act: tool('act', () => 'acted') }

  test('A223 has its skills active again, without their commands, the failed and the missing left out', async () => {
    const { open, at } = await world(files)
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const first = open([[use('1', 'gone'), use('2', 'nope'), use('3', 'strict')], 'done'], {
      session,
      tools: { ...tools, shell },
    })
    await first.agent.run({ prompt: 'go' })
    expect(first.told).toEqual(['+gone model', '+strict model', '-gone run-end', '-strict run-end'])
    await first.agent.destroy()
    await rm(at('home/.agents/skills/gone'), { recursive: true })

    const again = [[call('4', 'act'), use('5', 'gone')], 'done', [call('6', 'act')], 'done']
    const { agent, told, results } = open(again, {
      session: (await loadSession(store, 's'))!,
      tools: { ...tools, shell },
    })
    await agent.run({ prompt: 'go on' })
    expect(told).toEqual(['+strict resume', '-strict run-end'])
    expect(results()[3]).toContain('Blocked: the active skill "strict" allows only look')
    expect(readFileSync(at('project/runs'), 'utf8')).toBe('run\n')
    await agent.run({ prompt: 'once more' })
    expect(told).toHaveLength(2)
    expect(results().at(-1)).toBe('acted')
    await agent.destroy()
  })

  test('A223 a run that was suspended goes on with the skills it had', async () => {
    const { open } = await world(files)
    let isOpen = false
    const wait = tool('look', (_, ctx) => (isOpen ? 'seen' : ctx.suspend('later')))
    const script = [[use('1', 'strict')], [call('2', 'look')], [call('3', 'act')], 'done']
    const { agent, told, results } = open(script, { tools: { ...tools, look: wait } })
    await agent.run({ prompt: 'go' })
    isOpen = true
    await agent.run()
    expect(told).toEqual(['+strict model', '-strict run-end', '+strict resume', '-strict run-end'])
    expect(results().at(-1)).toContain('Blocked: the active skill')
  })

  test('a run that was suspended and reset leaves no skill behind', async () => {
    const { open } = await world(files)
    const wait = tool('look', (_, ctx) => ctx.suspend('later'))
    const script = [[use('1', 'strict')], [call('2', 'look')], [call('3', 'act')], 'done']
    const { agent, told, results } = open(script, { tools: { ...tools, look: wait } })
    await agent.run({ prompt: 'go' })
    await agent.reset()
    await agent.run({ prompt: 'something else' })
    expect(told).toEqual(['+strict model', '-strict run-end'])
    expect(results().at(-1)).not.toContain('Blocked')
  })
})

test('A223 what a person activated is in the prompt again when a run that was suspended goes on', async () => {
  const { open } = await world({ 'home/.agents/skills/deploy/SKILL.md': skill('deploy', 'Push it.') })
  const session = await createSession({ store: createMemoryStore(), id: 's' })
  const { agent, provider } = open([[call('1', 'act')], 'done', 'later'], {
    session,
    tools: { act: tool('act', () => 'done') },
    hooks: {
      'tool:gate': (gate) => {
        if (gate.approval?.decision !== 'allow') gate.halt = { reason: 'ask ann' }
      },
    },
  })
  await agent.activateSkill('deploy')
  expect((await agent.run({ prompt: 'go' })).status).toBe('suspended')
  await session.answer('1', { decision: 'allow', by: 'ann' })
  await agent.run()
  expect(provider.requests[1]!.system).toBe(provider.requests[0]!.system)
  expect(provider.requests[1]!.system).toContain('Push it.')
  await agent.run({ prompt: 'next' })
  expect(provider.requests[2]!.system).not.toContain('Push it.')
  await agent.destroy()
})

test('a summary keeps the instructions of active skills word for word', async () => {
  const { open } = await world({ 'home/.agents/skills/keep/SKILL.md': skill('keep', 'Remember the blue door.') })
  const provider = strictModel({
    window: 10_000,
    answer: () => {
      const asked = provider.answers.length
      if (asked === 1) return [use('1', 'keep')]
      return asked < 12 ? [call(`look-${asked}`, 'look')] : 'done'
    },
  })
  const { agent } = open([], {
    provider,
    behavior: { compactStrategy: 'summary' },
    tools: { look: tool('look', () => 'seen '.repeat(1000)) },
  })
  await agent.run({ prompt: 'go' })
  const last = provider.answers.at(-1)!
  expect(provider.summaries.length).toBeGreaterThan(0)
  expect(JSON.stringify(last.messages)).not.toContain('"skills_use"')
  expect(JSON.stringify(last.messages)).toContain('Remember the blue door.')
  await agent.destroy()
})

test('an active skill decides on model and thinking for the turns that follow, and nonsense is noted', async () => {
  const write = [
    defineSkill({ name: 'deep', description: 'x', instructions: 'x', model: 'thinker-1', thinking: 'high' }),
    defineSkill({ name: 'odd', description: 'x', instructions: 'x', model: 'a model', thinking: 'much' }),
  ]
  const { open } = await world()
  const problems: string[] = []
  const script = [[use('1', 'odd')], [use('2', 'deep')], 'done', 'next']
  const { agent, provider } = open(script, {
    skills: { write },
    hooks: {
      'skills:resolve': (ctx) => void problems.push(...ctx.problems.map(({ path, problem }) => `${path}: ${problem}`)),
    },
  })
  await agent.run({ prompt: 'go' })
  await agent.run({ prompt: 'next' })
  const asked = provider.requests.map(
    ({ model, thinking, thinkingBudget = 0 }) => `${model} ${thinking} ${thinkingBudget}`,
  )
  expect(asked).toEqual(['script-1 off 0', 'script-1 off 0', 'thinker-1 high 32768', 'script-1 off 0'])
  expect(problems).toEqual([
    'inline:odd: its thinking is ignored: it must be off, minimal, low, medium or high',
    'inline:odd: its model is ignored: it must be the name of a model',
  ])
})
