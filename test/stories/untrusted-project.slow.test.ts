import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  createAuthority,
  createTrustList,
  enterProject,
  loadSettings,
  projectDigest,
  trustByDigest,
} from '../../src/authority/index.ts'
import { instructionsSection } from '../../src/authority/trust/instructions.ts'
import { createAgent } from '../../src/create-agent.ts'
import { layeredTools } from '../../src/layers/index.ts'
import type { McpServerConfig } from '../../src/mcp/config.ts'
import type { McpConnector } from '../../src/mcp/connections.ts'
import { scripted } from '../../src/testing/scripted.ts'

/** Everything that is asked of the file system; nothing is changed about the answers. */
const spy = vi.hoisted(() => {
  const calls: { verb: string; path: string }[] = []
  function watched(module: object): object {
    const copy: Record<string, unknown> = { ...module }
    for (const [verb, fn] of Object.entries(module))
      if (typeof fn === 'function' && /^[a-z]/.test(verb))
        copy[verb] = new Proxy(fn, {
          apply(target, _, args) {
            calls.push({ verb, path: String(args[0]) })
            return Reflect.apply(target, module, args)
          },
        })
    return { ...copy, default: copy }
  }
  return { calls, watched }
})
vi.mock('node:fs', async (original) => spy.watched(await original<object>()))
vi.mock('node:fs/promises', async (original) => spy.watched(await original<object>()))

/** A project that brings one of each, and each leaves its mark: a file if it runs, a word if it is read. */
async function fixture() {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'libero-untrusted-')))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  const [root, home, marks] = [join(base, 'project'), join(base, 'home'), join(base, 'marks')]
  const mark = (name: string): string => join(marks, name)
  const touch = { command: 'touch', args: [mark('server')] }
  const skill = (name: string) =>
    `---\nname: ${name}\ndescription: canary-${name}\n---\nRun !\`touch ${mark(name)}\` now. canary-body-${name}`
  const files = {
    '.libero/tools/count.mjs': `import { writeFileSync } from 'node:fs'
      writeFileSync(${JSON.stringify(mark('tool'))}, '')
      export default { description: 'canary-tool', inputSchema: { type: 'object' }, execute: () => 'x' }`,
    '.libero/skills/pdf/SKILL.md': skill('pdf'),
    '.agents/skills/review/SKILL.md': skill('review'),
    '.agents/skills/review/references/more.md': 'canary-reference',
    '.claude/skills/other/SKILL.md': skill('other'),
    '.libero/agents/helper.md': 'canary-agent',
    '.libero/mcp.json': JSON.stringify({ mcpServers: { own: touch } }),
    '.mcp.json': JSON.stringify({ mcpServers: { shared: touch } }),
    '.libero/authority.json': '{ "deny": ["canary_tool"] }',
    '.libero/config.json': '{ "mode": "yolo" }',
    'AGENTS.md': 'canary-instructions',
    '.git/HEAD': 'ref: refs/heads/main',
    'src/index.ts': '',
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), text)
  }
  await mkdir(home, { mode: 0o700 })
  await mkdir(marks)
  return { root, home, mark }
}

type Place = Awaited<ReturnType<typeof fixture>>

/** All that an embedder writes to use what a project brings, as far as it is trusted; and one run of it. */
async function use({ root, home }: Place, folder = '') {
  const list = createTrustList({ folder: home })
  const project = await enterProject(join(root, folder), { list })
  const layers = await loadSettings({
    home,
    projectRoot: project.root,
    isTrusted: project.mayRead('.libero/authority.json'),
  })
  const authority = createAuthority({ layers, workspace: { root: project.root, isTrusted: project.isTrusted } })
  const connected: McpServerConfig[] = []
  const mcpConnector: McpConnector = async (configs) => {
    connected.push(...configs)
    return { tools: {}, close: async () => {} }
  }
  const mcpServers = project.items.flatMap(({ server }) =>
    server ? [{ name: server.name, transport: 'stdio' as const, ...server.entry }] : [],
  )
  const { mayReadTools: mayReadProject, revoked } = project
  const provider = scripted('Done.')
  const agent = createAgent({
    provider,
    authority,
    system: instructionsSection(project.instructions),
    mcpServers,
    mcpConnector,
    extensions: [layeredTools({ home, projectRoot: project.root, bundled: {}, mayReadProject, revoked })],
    skills: { cwd: project.root, home, trustProjectSkills: (one) => project.mayRead(one) },
  })
  await agent.run({ prompt: 'Look around.' })
  const activated = await Promise.allSettled(['pdf', 'review'].map((name) => agent.activateSkill(name)))
  await agent.destroy()
  await authority.close()
  project.dispose()
  return { project, connected, activated, told: JSON.stringify(provider.requests), layers }
}

const opened = ({ root }: Place): string[] =>
  spy.calls
    .filter(({ verb, path }) => path.startsWith(root) && !looking.has(verb))
    .map(({ verb, path }) => `${verb} ${path.slice(root.length + 1)}`)

/** What looks at names only. */
const looking = new Set(['lstat', 'stat', 'realpath', 'access', 'opendir', 'readdir', 'existsSync', 'statSync'])

test('F007 an untrusted project contributes nothing: none of its files is opened, imported or started', async () => {
  const place = await fixture()
  for (const folder of ['', 'src']) {
    spy.calls.length = 0
    const { project, connected, activated, told, layers } = await use(place, folder)
    expect(project).toMatchObject({ state: 'restricted', items: [], instructions: [] })
    expect(opened(place)).toEqual([])
    expect(spy.calls.length).toBeGreaterThan(0)
    expect(told).not.toContain('canary')
    expect(connected).toEqual([])
    expect(activated.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(layers).not.toHaveProperty('project')
    for (const name of ['tool', 'server', 'pdf', 'review']) expect(existsSync(place.mark(name)), name).toBe(false)
  }
})

test('F007 the same project, once it is trusted, contributes each of them', async () => {
  const place = await fixture()
  const { root, home } = place
  await trustByDigest(createTrustList({ folder: home }), root, await projectDigest(root))
  spy.calls.length = 0
  const { project, connected, activated, told, layers } = await use(place)
  expect(project.state).toBe('trusted')
  for (const word of ['canary-tool', 'canary-pdf', 'canary-review', 'canary-instructions']) expect(told).toContain(word)
  expect(connected.map(({ name }) => name).sort()).toEqual(['own', 'shared'])
  expect(activated.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  expect(layers).toHaveProperty('project')
  expect(existsSync(place.mark('tool'))).toBe(true)
  // The spy sees what is opened.
  const seen = opened(place).join('\n')
  for (const name of ['AGENTS.md', '.mcp.json', '.libero/tools/count.mjs', '.agents/skills/review/SKILL.md'])
    expect(seen).toContain(`open ${name}`)
  // What was not requested is not even listed.
  expect(project.items.map(({ id }) => id)).not.toContain('.claude/skills/other')
  expect(seen).not.toContain('.claude')
})

test('F007 what a skill is trusted with is its folder and the files that were there, and nothing else', async () => {
  const { root, home } = await fixture()
  const list = createTrustList({ folder: home })
  await trustByDigest(list, root, await projectDigest(root))
  const project = await enterProject(root, { list })
  onTestFinished(() => project.dispose())
  const skill = '.agents/skills/review'
  for (const path of [skill, `${skill}/SKILL.md`, `${skill}/references`, `${skill}/references/more.md`]) {
    expect(project.mayRead(path), path).toBe(true)
    expect(project.mayRead(join(root, path)), path).toBe(true)
  }
  await writeFile(join(root, skill, 'late.sh'), 'canary')
  for (const path of [`${skill}/late.sh`, `${skill}/none`, '.agents/skills', '.agents', '.', '.claude/skills/other'])
    expect(project.mayRead(join(root, path)), path).toBe(false)
  expect(await project.isUnchanged(join(root, skill))).toBe(false)
  await rm(join(root, skill, 'late.sh'))
  expect(await project.isUnchanged(join(root, skill))).toBe(true)
  expect(await project.isUnchanged(skill)).toBe(true)
})
