import type { Log } from '../core/log.ts'
import { toolResultToText } from '../core/tool-output.ts'
import type { SessionTurn } from '../core/turn.ts'
import type { ActiveSkill } from './active-skills.ts'
import { findSkill } from './run-skills.ts'
import type { Skill } from './skill.ts'

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
