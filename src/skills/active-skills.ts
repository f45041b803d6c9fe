import type { Run } from '../core/run.ts'
import type { Skill } from './skill.ts'
import { nameKey } from './skill-name.ts'

/** Who made a skill active. */
export type ActivatedBy = 'model' | 'explicit' | 'resume'

/** A skill whose instructions count. */
export interface ActiveSkill {
  readonly skill: Skill
  readonly via: ActivatedBy
  /** What the model was given of it, word for word. */
  content: string
  /** It stood in the system prompt of a run that was suspended, and so nowhere in the conversation. */
  readonly wasInSystemPrompt?: boolean
  /** It was asked for again, and told that there is nothing new. */
  wasRepeated?: boolean
}

/** The skills of one run that are active, in the order in which they became so. */
export class ActiveSkills {
  readonly #active = new Map<string, ActiveSkill>()
  readonly #most: number
  /** Calls in which a skill's own commands are run, by the skill they belong to: it does not bind those. */
  readonly runningCommands = new Map<string, Skill>()

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  get(name: string): ActiveSkill | undefined {
    return this.#active.get(nameKey(name))
  }

  get all(): readonly ActiveSkill[] {
    return [...this.#active.values()]
  }

  /** Throws when there are as many as there may be. */
  checkLimit({ name }: Skill): void {
    if (this.#active.size < this.#most || this.get(name)) return
    const names = this.all.map(({ skill }) => skill.name).join(', ')
    const limit = this.#most === 1 ? 'Only 1 skill' : `At most ${this.#most} skills`
    throw new Error(
      `${limit} may be active at once (skills.maxActive), so "${name}" is not activated; active: ${names}`,
    )
  }

  add(active: ActiveSkill): void {
    this.checkLimit(active.skill)
    this.#active.set(nameKey(active.skill.name), active)
  }

  remove(name: string): ActiveSkill | undefined {
    const active = this.get(name)
    this.#active.delete(nameKey(name))
    return active
  }

  /** Takes all of them out. */
  clear(): readonly ActiveSkill[] {
    const { all } = this
    this.#active.clear()
    return all
  }
}

/** By run, so that those of a parent can be found from its children, whoever put them together. */
const byRun = new WeakMap<Run, ActiveSkills>()

/** Says which skills are those of a run. */
export function bindSkills(run: Run, active: ActiveSkills): void {
  byRun.set(run, active)
}

/** What is active in a run, and in each run above it. */
export function activeInChain(run: Run): readonly ActiveSkills[] {
  const found: ActiveSkills[] = []
  for (let one: Run | undefined = run; one; one = one.parent) {
    const active = byRun.get(one)
    if (active) found.push(active)
  }
  return found
}
