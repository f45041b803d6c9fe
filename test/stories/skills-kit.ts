import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Agent, createAgent, createProcessContext } from '../../src/index.ts'
import type { SkillsConfig } from '../../src/skills/skill.ts'
import { type ScriptedProvider, type Step, scripted } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/index.ts'
import type { AgentHookMap, AgentOptions } from '../../src/types.ts'

/** A project and a home folder of their own, and the files that are put into them by their paths: `project/…`, `home/…`. */
export async function world(files: Readonly<Record<string, string>> = {}) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'libero-skills-')))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const at = (path: string): string => join(root, path)
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(at(path)), { recursive: true })
    await writeFile(at(path), text)
  }
  await mkdir(at('project'))
  await mkdir(at('home'))
  for (const [path, text] of Object.entries(files)) await write(path, text)

  function open(
    script: readonly Step[],
    { skills, ...options }: Partial<Omit<AgentOptions, 'skills'>> & { readonly skills?: SkillsConfig } = {},
  ): { agent: Agent; provider: ScriptedProvider; told: string[]; results: () => string[]; tools: () => string[] } {
    const provider = scripted(...script)
    const told: string[] = []
    const hooks: AgentHookMap = {
      'skills:activate': ({ skill, via }) => void told.push(`+${skill.name} ${via}`),
      'skills:deactivate': ({ skill, reason }) => void told.push(`-${skill.name} ${reason}`),
    }
    const agent = createAgent({
      provider,
      tools: { shell },
      execution: createProcessContext({ cwd: at('project') }),
      hooks,
      ...options,
      skills: { cwd: at('project'), home: at('home'), ...skills },
    })
    return { agent, provider, told, results: () => resultsOf(agent), tools: () => offeredTo(provider) }
  }

  return { root, at, write, open }
}

/** A SKILL.md. */
export function skill(name: string, body: string, more = ''): string {
  return `---\nname: ${name}\ndescription: Use it for ${name}.\n${more === '' ? '' : `${more}\n`}---\n${body}\n`
}

/** What the calls of an agent came to. */
export function resultsOf({ turns }: Agent): string[] {
  return turns.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [String(block.output)] : [])),
  )
}

function offeredTo({ requests }: ScriptedProvider): string[] {
  return requests.at(-1)!.tools.map(({ name }) => name)
}
