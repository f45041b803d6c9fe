import type { Run } from '../core/run.ts'
import { toolResultToText } from '../core/tool-output.ts'
import type { SessionContentBlock, SessionTurn } from '../core/turn.ts'
import type { Skill, SkillsConfig } from './skill.ts'
import { nameKey } from './skill-name.ts'

type ActivatedBy = 'model' | 'explicit' | 'resume'

/** An active skill. */
export interface ActiveSkill {
  readonly skill: Skill
  readonly via: ActivatedBy
  content: string
  /** It was in the system prompt of a suspended run, so it is not in the conversation. */
  readonly wasInSystemPrompt?: boolean
  /** The model requested it again; the result said that it is unchanged. */
  wasRepeated?: boolean
}

/** The active skills of one run, in order of activation. */
export class ActiveSkills {
  readonly #active = new Map<string, ActiveSkill>()
  readonly #most: number
  /** Calls that run a skill's own commands, by call id. The skill's `allowed-tools` do not apply to them. */
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

  clear(): readonly ActiveSkill[] {
    const { all } = this
    this.#active.clear()
    return all
  }
}

/** By run, so that children can find the skills of their parents. */
const byRun = new WeakMap<Run, ActiveSkills>()

/** Registers the active skills of a run. */
export function bindSkills(run: Run, active: ActiveSkills): void {
  byRun.set(run, active)
}

/** The active skills of a run and of each parent. */
export function activeInChain(run: Run): readonly ActiveSkills[] {
  const found: ActiveSkills[] = []
  for (let one: Run | undefined = run; one; one = one.parent) {
    const active = byRun.get(one)
    if (active) found.push(active)
  }
  return found
}

/** What the three tools need of their run. */
export interface RunSkills {
  readonly run: Run
  readonly config: SkillsConfig
  readonly skills: readonly Skill[]
  readonly active: ActiveSkills
  activate(active: ActiveSkill): Promise<void>
}

/** Finds a skill by name. */
export function findSkill(skills: readonly Skill[], name: string): Skill | undefined {
  return skills.find((skill) => nameKey(skill.name) === nameKey(name))
}

/** The skill, if it is active in this run; otherwise throws. */
export function activeSkill({ active }: RunSkills, name: string): Skill {
  const found = active.get(name)
  if (!found) throw new Error(`the skill "${name}" is not active; call skills_use({ "name": "${name}" }) first`)
  return found.skill
}

/** The part of a conversation that the model is shown. */
interface Shown {
  readonly turns: readonly SessionTurn[]
  /** Replaces the turns before them. */
  readonly summary: readonly SessionContentBlock[]
}

export function shownOf({ log: { transcript }, provider }: Run): Shown {
  const shown = new Set(transcript.shownTurns(provider.meta.name).map(({ id }) => id))
  return { turns: transcript.turns.filter(({ id }) => shown.has(id)), summary: transcript.compaction?.summary ?? [] }
}

/** The skills a conversation contains, latest last, with the exact text. Skills that no longer exist are left out. */
export function activeSkillsIn({ turns, summary }: Shown, skills: readonly Skill[]): readonly ActiveSkill[] {
  const found = new Map<string, ActiveSkill>()
  for (const [name, content] of [...pinnedIn(summary), ...successes(turns)]) {
    const skill = findSkill(skills, name)
    if (!skill || skill.isHidden) continue
    // A repeated request may only answer that nothing changed; a long text may be in a file.
    const isWhole = content.startsWith('<skill_content ')
    const known = isWhole ? content : (found.get(skill.name)?.content ?? '')
    found.delete(skill.name)
    found.set(skill.name, { skill, via: 'resume', content: known })
  }
  return [...found.values()]
}

/** Skills that were active when the conversation was compacted: their texts were pinned, each under a heading. */
function* pinnedIn(summary: readonly SessionContentBlock[]): Iterable<readonly [name: string, content: string]> {
  for (const block of summary) {
    const [, content, name] = (block.type === 'text' && pinnedSkill.exec(block.text)) || []
    if (content !== undefined && name !== undefined) yield [name, content]
  }
}

const pinnedSkill = /^\[[^\]\n]*\]\n(<skill_content name="([^"]*)">.*)$/s

function* successes(turns: readonly SessionTurn[]): Iterable<readonly [name: string, content: string]> {
  const asked = new Map<string, string>()
  for (const { content } of turns)
    for (const block of content) {
      if (block.type === 'tool_call') {
        asked.delete(block.id) // some services reuse call ids in every turn
        if (block.name === 'skills_use') asked.set(block.id, String(block.input.name))
      }
      if (block.type !== 'tool_result') continue
      const name = asked.get(block.callId)
      asked.delete(block.callId)
      if (name !== undefined && !block.isError) yield [name, toolResultToText(block.output)]
    }
}
