import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, symlink, writeFile } from 'node:fs/promises'
import { describe, expect } from 'vitest'
import { createMemoryAudit } from '../../src/authority/audit/audit.ts'
import type { Skill } from '../../src/skills/skill.ts'
import { withSkillFile } from '../../src/skills/skill-files.ts'
import { call, memoryExecution } from '../../src/testing/index.ts'
import { testInTurns } from '../soak.ts'
import { skill, world } from './skills-kit.ts'

const test = testInTurns(2)

const use = (id: string, name: string) => call(id, 'skills_use', { name })
const read = (id: string, path: string, more = {}) => call(id, 'skills_read', { name: 'pdf', path, ...more })
const run = (id: string, script: string, args?: unknown) =>
  call(id, 'skills_run_script', { name: 'pdf', script, ...(args !== undefined && { args }) })

const files = {
  'home/.agents/skills/pdf/SKILL.md': skill('pdf', 'Fill forms.'),
  'home/.agents/skills/pdf/references/forms.md': 'one\ntwo\nthree',
  'home/.agents/skills/pdf/scripts/show.sh': 'echo "at $PWD in $SKILL_DIR with $# args: $1|$2"',
  'home/.agents/skills/pdf/scripts/fail.js': 'console.error("broken"); process.exit(3)',
  'home/.agents/skills/other/SKILL.md': skill('other', 'Other.'),
  'home/.agents/skills/other/secret.md': 'other secret',
  'home/.agents/skills/pdf-more/x.sh': 'touch canary',
  'home/secret.sh': 'touch canary',
}

describe('skills_read', () => {
  test('A220 reads files of an active skill only', async () => {
    const { open } = await world(files)
    const script = [
      [read('1', 'references/forms.md')],
      [use('2', 'pdf')],
      [read('3', './references/forms.md', { offset: 2 })],
      'done',
    ]
    const { agent, results } = open(script)
    await agent.run({ prompt: 'go' })
    expect(results()[0]).toBe('Tool error: the skill "pdf" is not active; call skills_use({ "name": "pdf" }) first')
    expect(results()[2]).toBe('two\nthree')
  })

  test('A220 SK-10 stays inside the folder, whatever the path or a link says', async () => {
    const { open, at } = await world(files)
    const folder = at('home/.agents/skills/pdf')
    await symlink(at('home/secret.sh'), `${folder}/linked.sh`)
    await symlink(at('home'), `${folder}/up`)
    await symlink('references/forms.md', `${folder}/fine.md`)
    const outside = [
      '../other/secret.md',
      'scripts/../../other/secret.md',
      at('home/secret.sh'),
      '~/secret.sh',
      'up/secret.sh',
      'linked.sh',
      '..\\other\\secret.md',
      'nothing.md',
      'scripts',
      '',
      'a\0b',
    ]
    const calls = outside.map((path, i) => read(`r${i}`, path))
    const { agent, results } = open([[use('1', 'pdf')], [...calls, read('fine', 'fine.md')], 'done'])
    await agent.run({ prompt: 'go' })
    const [, ...answers] = results()
    expect(answers.slice(0, -1)).toEqual([
      ...Array(4).fill(expect.stringContaining("leads out of the skill's folder")),
      ...Array(2).fill(expect.stringContaining('leads out of the folder of the skill "pdf"')),
      expect.stringContaining("leads out of the skill's folder"),
      expect.stringContaining('has no file "nothing.md"'),
      expect.stringContaining('is no regular file'),
      expect.stringContaining('the path is empty'),
      expect.stringContaining('is no path'),
    ])
    expect(answers.at(-1)).toBe('one\ntwo\nthree')
  })

  // On other systems it cannot be told what was opened.
  test.skipIf(process.platform !== 'linux')(
    'SK-10 a folder that turns into a link and back opens nothing',
    async () => {
      const { at } = await world({ ...files, 'outside/forms.md': 'outside' })
      const folder = at('home/.agents/skills/pdf')
      const swapping = `const { renameSync: move, symlinkSync } = require('node:fs')
      process.chdir(process.argv[1])
      symlinkSync(process.argv[2], 'link')
      process.stdout.write('go')
      for (;;) for (const [from, to] of [['references', 'real'], ['link', 'references'], ['references', 'link'], ['real', 'references']]) move(from, to)`
      const swapper = spawn(process.execPath, ['-e', swapping, folder, at('outside')])
      await once(swapper.stdout, 'data')
      const seen = new Set<string>()
      const pdf: Skill = { name: 'pdf', description: 'x', source: 'user', folder }
      for (let i = 0; i < 4000; i++)
        await withSkillFile(pdf, 'references/forms.md', async (file) => seen.add(await file.readFile('utf8'))).catch(
          () => {},
        )
      swapper.kill()
      await once(swapper, 'close')
      expect([...seen].filter((text) => text.includes('outside'))).toEqual([])
    },
  )

  test('names what is no text, shows an image, and cuts what is long', async () => {
    const { open, write, at } = await world(files)
    await write('home/.agents/skills/pdf/bin', 'a\0b')
    await write('home/.agents/skills/pdf/long.md', 'line of text\n'.repeat(20_000))
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    await writeFile(at('home/.agents/skills/pdf/dot.png'), Buffer.from(png, 'base64'))
    const { agent } = open([[use('1', 'pdf')], [read('2', 'bin'), read('3', 'dot.png'), read('4', 'long.md')], 'done'])
    await agent.run({ prompt: 'go' })
    const outputs = agent.turns[4]!.content.map((block) => (block.type === 'tool_result' ? block.output : block))
    expect(outputs).toEqual([
      '[bin: no text, 3 bytes]',
      [
        { type: 'text', text: 'dot.png: image/png, 1×1, 70 bytes' },
        { type: 'image', mediaType: 'image/png', data: png },
      ],
      expect.stringMatching(/\[cut: it goes on in line 5042 of 20001; use offset\]$/),
    ])
  })

  test('declares the file it reads, so that rules about files hold', async () => {
    const { open, at } = await world(files)
    const { agent, results } = open([[use('1', 'pdf')], [read('2', 'references/forms.md')], 'done'], {
      authority: { mode: 'yolo', deny: [`fs.read:${at('home/.agents/skills/pdf/references')}/**`] },
    })
    await agent.run({ prompt: 'go' })
    expect(results()[1]).toMatch(/^Blocked: /)
    await agent.destroy()
  })
})

describe('skills_run_script', () => {
  test('A220 runs scripts of an active skill only, in the working directory, with arguments as words', async () => {
    const { open, at } = await world(files)
    const args = ['a b', '$(touch canary); "x"']
    const script = [
      [run('1', 'scripts/show.sh')],
      [use('2', 'pdf')],
      [run('3', 'scripts/show.sh', args), run('4', 'scripts/fail.js')],
      'done',
    ]
    const { agent, results } = open(script)
    await agent.run({ prompt: 'go' })
    const folder = at('home/.agents/skills/pdf')
    expect(results()[0]).toContain('the skill "pdf" is not active')
    expect(results()[2]).toBe(`at ${at('project')} in ${folder} with 2 args: a b|$(touch canary); "x"\n[exit 0]`)
    expect(results()[3]).toBe('broken\n[exit 3]')
    expect(agent.turns[6]!.content[1]).toMatchObject({ isError: true })
  })

  test('a program without an ending is run as it is', async () => {
    const { open, write, at } = await world(files)
    await write('home/.agents/skills/pdf/scripts/tool', '#!/bin/sh\necho I am $0')
    await chmod(at('home/.agents/skills/pdf/scripts/tool'), 0o755)
    const { agent, results } = open([[use('1', 'pdf')], [run('2', 'scripts/tool')], 'done'])
    await agent.run({ prompt: 'go' })
    expect(results()[1]).toBe(`I am ${at('home/.agents/skills/pdf/scripts/tool')}\n[exit 0]`)
  })

  test('SK-10 a script outside of the folder does not run', async () => {
    const { open, at } = await world(files)
    const folder = at('home/.agents/skills/pdf')
    await symlink(at('home/secret.sh'), `${folder}/scripts/linked.sh`)
    await symlink(at('home'), `${folder}/up`)
    const outside = [
      '../pdf-more/x.sh',
      'scripts/../../pdf-more/x.sh',
      at('home/secret.sh'),
      'up/secret.sh',
      'scripts/linked.sh',
    ]
    const { agent, results } = open([[use('1', 'pdf')], outside.map((path, i) => run(`r${i}`, path)), 'done'])
    await agent.run({ prompt: 'go' })
    expect(results().slice(1)).toEqual(Array(5).fill(expect.stringContaining('leads out of')))
    expect(existsSync(at('project/canary'))).toBe(false)
  })

  test('declares its line: the authority judges what really runs', async () => {
    const { open, at } = await world(files)
    const audit = createMemoryAudit()
    const { agent, results } = open([[use('1', 'pdf')], [run('2', 'scripts/show.sh', ['a b'])], 'done'], {
      authority: { mode: 'plan', audit },
    })
    await agent.run({ prompt: 'go' })
    expect(results()[1]).toMatch(/^Blocked: .*the mode is plan/)
    await agent.destroy()
    const line = `bash ${at('home/.agents/skills/pdf')}/scripts/show.sh 'a b'`
    const commands: unknown[] = []
    const other = open([[use('1', 'pdf')], [run('2', 'scripts/show.sh', ['a b'])], 'done'], {
      authority: { mode: 'yolo', deny: ['skills_run_script:bash *'] },
      hooks: { 'tool:gate': ({ tool, input }) => void commands.push(tool?.commandLine?.(input).command) },
    })
    await other.agent.run({ prompt: 'go' })
    expect(other.results()[1]).toMatch(/^Blocked: /)
    expect(commands).toEqual([undefined, line])
    await other.agent.destroy()
  })

  test('an approval is for this script with these arguments, and for no other skill of that name', async () => {
    const { open, at } = await world(files)
    const keys: unknown[] = []
    const yes = (prompt: { payload: object }) =>
      keys.push('approvalKey' in prompt.payload && prompt.payload.approvalKey) > 0
    const workspace = { root: at('project'), isTrusted: true }
    const calls = [run('2', 'scripts/show.sh', ['a']), run('3', 'scripts/show.sh', ['b'])]
    const { agent } = open([[use('1', 'pdf')], [...calls, read('4', 'references/forms.md')], 'done'], {
      authority: { mode: 'ask', interactors: [yes], workspace },
    })
    await agent.run({ prompt: 'go' })
    await agent.destroy()
    const folder = at('home/.agents/skills/pdf')
    expect(keys).toEqual([`bash ${folder}/scripts/show.sh a`, `bash ${folder}/scripts/show.sh b`, folder])
  })

  test('is refused where commands run elsewhere, and where the project is not trusted any more', async () => {
    const { open, write } = await world(files)
    const elsewhere = open([[use('1', 'pdf')], [run('2', 'scripts/show.sh')], 'done'], {
      execution: memoryExecution({ exec: () => ({ stdout: 'ran' }) }),
    })
    await elsewhere.agent.run({ prompt: 'go' })
    expect(elsewhere.results()[1]).toContain('scripts of skills cannot be run here')

    await write('project/.agents/skills/pdf/SKILL.md', skill('pdf', 'Theirs.'))
    await write('project/.agents/skills/pdf/scripts/show.sh', 'touch canary')
    let isTrusted = true
    const revoke = () => {
      isTrusted = false
      return [run('2', 'scripts/show.sh')]
    }
    const { agent, results } = open([[use('1', 'pdf')], revoke, 'done'], {
      skills: { trustProjectSkills: () => isTrusted },
    })
    await agent.run({ prompt: 'go' })
    expect(results()[1]).toContain('it is not trusted as it is now')
  })
})
