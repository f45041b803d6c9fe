import type { Agent } from '../core/agent.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { HookScope } from '../core/hooks.ts'
import type { Log } from '../core/log.ts'
import { didYouMean } from '../core/nearest.ts'
import type { Extension, Run } from '../core/run.ts'
import { readActivation } from './activation.ts'
import {
  type ActiveSkill,
  ActiveSkills,
  activeSkillsIn,
  bindSkills,
  findSkill,
  type RunSkills,
  shownOf,
} from './active-skills.ts'
import { allowedTools } from './allowed-tools.ts'
import { type Catalog, createCatalog } from './catalog.ts'
import { applyOverrides, haveOverrides } from './overrides.ts'
import type { SkillsConfig } from './skill.ts'
import { createSkillsRead } from './tools/skills-read.ts'
import { createSkillsRunScript } from './tools/skills-run-script.ts'
import { createSkillsUse } from './tools/skills-use.ts'

type Host = Pick<Agent, 'hooks' | 'log' | 'steer'>
type Reason = HookContexts['skills:deactivate']['reason']

/** The skills of an agent. */
export interface Skills {
  readonly extension: Extension
  /** Activates a skill for the current run, else for the next one. */
  activate(agent: Host, name: string): Promise<void>
  deactivate(agent: Host, name: string): Promise<void>
  /** Deactivates all skills before it returns; the hooks follow. */
  reset(agent: Host): Promise<void>
}

/** The `skills` option: a catalogue in the system prompt, three tools, and a gate for `allowed-tools`. */
export function createSkills(config: SkillsConfig): Skills {
  const catalog = createCatalog(config)
  // Of the agent itself: a skill activated before a run is active in it. Each child has its own.
  const own = new ActiveSkills(config.maxActive)
  const seen = new WeakSet<Log>()
  const suspended = new WeakMap<Log, readonly ActiveSkill[]>()
  let running: Run | undefined

  return {
    extension: {
      name: 'skills',
      warmup: async ({ hooks }) => void (await catalog(hooks)),
      async start(run, hooks) {
        const found = await catalog(run.hooks)
        const active = run.facts.depth === 0 ? own : new ActiveSkills(config.maxActive)
        const { skills } = found
        const host: RunSkills = { run, config, skills, active, activate: (one) => activate(run.hooks, active, one) }
        bindSkills(run, active)
        hooks.hook('tool:gate', allowedTools(run))
        hooks.hook('session:end', async ({ status }) => {
          if (run.facts.depth === 0) running = undefined
          if (status === 'suspended') suspended.set(run.log, active.all)
          await deactivate(run.hooks, active.clear(), 'run-end')
        })
        if (haveOverrides(skills)) applyOverrides(run, hooks, active)
        await resume(host)
        addCatalogAndTools(host, found)
        setActiveSection(run, active)
        pinContents(run, hooks, active)
        if (run.facts.depth === 0) running = run
      },
    },

    async activate(agent, name) {
      const { skills } = await catalog(agent.hooks)
      const skill = findSkill(skills, name)
      if (!skill) {
        const names = skills.map((one) => one.name)
        const there = names.length > 0 ? `there are: ${names.join(', ')}` : 'there are none'
        throw new Error(`There is no skill "${name}"${didYouMean(name, names)}; ${there}`)
      }
      if (own.get(name)) return
      own.checkLimit(skill)
      const content = await readActivation({ skill, config })
      if (own.get(name)) return // activated concurrently
      await activate(agent.hooks, own, { skill, via: 'explicit', content })
      // The system prompt of a running agent stays unchanged, and cached.
      if (running) await agent.steer(`${activatedNote}\n\n${content}`)
    },

    async deactivate(agent, name) {
      const active = own.remove(name)
      if (!active) return
      if (running?.system.sections.has(section)) setActiveSection(running, own)
      await deactivate(agent.hooks, [active], 'explicit')
    },

    reset(agent) {
      suspended.delete(agent.log)
      return deactivate(agent.hooks, own.clear(), 'reset')
    },
  }

  /** Reactivates the skills of the conversation on the first run, and those of a suspended run. */
  async function resume({ run, skills, active, activate }: RunSkills): Promise<void> {
    const left = suspended.get(run.log) ?? []
    suspended.delete(run.log)
    const earlier = seen.has(run.log)
      ? left.map((one) => ({ ...one, via: 'resume' as const, wasInSystemPrompt: isInSystemPrompt(one) }))
      : activeSkillsIn(shownOf(run), skills)
    seen.add(run.log)
    const room = (config.maxActive ?? Number.POSITIVE_INFINITY) - active.all.length
    const missing = earlier.filter(({ skill }) => !active.get(skill.name))
    for (const one of missing.slice(Math.max(0, missing.length - room))) await activate(one)
  }
}

async function activate(hooks: Run['hooks'], active: ActiveSkills, one: ActiveSkill): Promise<void> {
  active.add(one)
  await hooks.tell('skills:activate', { skill: one.skill, via: one.via })
}

async function deactivate(hooks: Run['hooks'], all: readonly ActiveSkill[], reason: Reason): Promise<void> {
  for (const { skill } of all) await hooks.tell('skills:deactivate', { skill, reason })
}

/** Adds the catalogue and the tools. Without a catalogue the tools are needed only if a skill is already active. */
function addCatalogAndTools(host: RunSkills, { catalog }: Catalog): void {
  const { run, active } = host
  if (run.tools.isFixed || (catalog === '' && active.all.length === 0)) return
  if (catalog !== '') run.system.set('skills', `${catalog}\n\n${howTo}`)
  run.tools.add(createSkillsUse(host))
  run.tools.add(createSkillsRead(host))
  run.tools.add(createSkillsRunScript(host))
}

const howTo =
  'Skills are instructions for certain kinds of work. When a task fits the description of one, call skills_use with its name before you begin, and follow what it says.'

const section = 'active skills'
const activatedNote = 'The user has activated a skill. Its instructions hold for the work that follows:'

/** Adds skills that a person activated before the run to the system prompt. */
function setActiveSection(run: Run, active: ActiveSkills): void {
  const contents = active.all.filter(isInSystemPrompt).map(({ content }) => content)
  if (contents.length > 0 || run.system.sections.has(section))
    run.system.set(section, contents.length > 0 ? [activatedNote, ...contents].join('\n\n') : '')
}

const isInSystemPrompt = (one: ActiveSkill): boolean => one.via === 'explicit' || one.wasInSystemPrompt === true

/** Keeps skills that are not in the system prompt through compaction, word for word. */
function pinContents(run: Run, hooks: HookScope<HookContexts>, active: ActiveSkills): void {
  const prompt = run.system.sections.get(section) ?? ''
  hooks.hook('compaction:before', ({ pins }) => {
    for (const { content } of active.all) if (content !== '' && !prompt.includes(content)) pins.push(content)
  })
}
