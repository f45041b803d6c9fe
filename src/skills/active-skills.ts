import type { Log } from '../core/log.ts'
import type { Run } from '../core/run.ts'
import { toolResultToText } from '../core/tool-output.ts'
import type { SessionTurn } from '../core/turn.ts'
import type { Skill, SkillsConfig } from './skill.ts'
import { nameKey } from './skill-name.ts'

/** Who made a skill active. */
type ActivatedBy = 'model' | 'explicit' | 'resume'

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

/** What the three tools know of the run they belong to. */
export interface RunSkills {
  readonly run: Run
  readonly config: SkillsConfig
  readonly skills: readonly Skill[]
  readonly active: ActiveSkills
  /** Makes a skill active, and tells. */
  activate(active: ActiveSkill): Promise<void>
}

/** A skill by its name, whoever may activate it. */
export function findSkill(skills: readonly Skill[], name: string): Skill | undefined {
  return skills.find((skill) => nameKey(skill.name) === nameKey(name))
}

/** The skill, where it is active in this run. */
export function activeSkill({ active }: RunSkills, name: string): Skill {
  const found = active.get(name)
  if (!found) throw new Error(`the skill "${name}" is not active; call skills_use({ "name": "${name}" }) first`)
  return found.skill
}

/** The skills that a conversation has been given, latest last, with the very text it was given. Those that are gone are left out. */
export function activeSkillsIn({ transcript }: Log, skills: readonly Skill[]): readonly ActiveSkill[] {
  const found = new Map<string, ActiveSkill>()
  for (const [name, content] of successes(transcript.turns)) {
    const skill = findSkill(skills, name)
    if (!skill || skill.isHidden) continue
    // Asked for twice, the second answer may be that there is nothing new; a long one may stand in a file of its own.
    const isWhole = content.startsWith('<skill_content ')
    const known = isWhole ? content : (found.get(skill.name)?.content ?? '')
    found.delete(skill.name)
    found.set(skill.name, { skill, via: 'resume', content: known })
  }
  return [...found.values()]
}

function* successes(turns: readonly SessionTurn[]): Iterable<readonly [name: string, content: string]> {
  const asked = new Map<string, string>()
  for (const { content } of turns)
    for (const block of content) {
      if (block.type === 'tool_call') {
        asked.delete(block.id) // some services count their calls anew in every turn
        if (block.name === 'skills_use') asked.set(block.id, String(block.input.name))
      }
      if (block.type !== 'tool_result') continue
      const name = asked.get(block.callId)
      asked.delete(block.callId)
      if (name !== undefined && !block.isError) yield [name, toolResultToText(block.output)]
    }
}
