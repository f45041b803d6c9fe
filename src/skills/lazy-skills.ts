import type { Agent } from '../core/agent.ts'
import { show } from '../core/behavior.ts'
import type { Extension } from '../core/run.ts'
import type { Skills } from './extension.ts'
import type { SkillsConfig } from './skill.ts'

/** The methods that skills add to an agent. */
export interface SkillActions {
  /** Activates a skill in the current run, else in the next one, as if the user had typed its name. */
  activateSkill(name: string): Promise<void>
  deactivateSkill(name: string): Promise<void>
}

/** The skills of an agent, loaded on first use: at warmup, by a run, or by an activation. */
export interface LazySkills {
  readonly extension: Extension
  load(): Promise<Skills>
  loaded(): Promise<Skills | undefined>
}

export function lazySkills(config: SkillsConfig): LazySkills {
  let loading: Promise<Skills> | undefined
  const load = (): Promise<Skills> =>
    (loading ??= import('./extension.ts').then(({ createSkills }) => createSkills(config)))
  return {
    load,
    loaded: async () => loading,
    extension: {
      name: 'skills',
      warmup: async (host) => (await load()).extension.warmup?.(host),
      start: async (run, hooks) => (await load()).extension.start?.(run, hooks),
    },
  }
}

/** Adds the methods to an agent; without skills they throw. */
export function withSkills<A extends Agent>(agent: A, skills: LazySkills | undefined): A & SkillActions {
  if (!skills) return Object.assign(agent, { activateSkill: noSkills, deactivateSkill: noSkills })
  const { reset, destroy } = agent
  let isDestroyed = false
  return Object.assign(agent, {
    async activateSkill(name: string) {
      if (typeof name !== 'string') throw new TypeError(`activateSkill takes the name of a skill, got ${show(name)}`)
      if (isDestroyed) throw new Error('This agent was destroyed; create another one')
      await (await skills.load()).activate(agent, name)
    },
    destroy() {
      isDestroyed = true
      return destroy()
    },
    deactivateSkill: async (name: string) => (await skills.loaded())?.deactivate(agent, name),
    reset() {
      const resetting = reset().then(async () => (await skills.loaded())?.reset(agent))
      resetting.catch(() => {}) // the caller sees the error if it awaits
      return resetting
    },
  })
}

async function noSkills(name: string): Promise<void> {
  throw new Error(
    `This agent has no skills, so there is none named "${name}"; create it with skills: {} to look in the usual folders`,
  )
}
