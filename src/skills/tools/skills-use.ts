import { didYouMean } from '../../core/nearest.ts'
import type { ToolContext, ToolDef, ToolResult } from '../../core/tool.ts'
import { commandsOf, readActivation } from '../activation.ts'
import { findSkill, type RunSkills } from '../active-skills.ts'
import type { Skill } from '../skill.ts'

const description = `Activates a skill and gives back its instructions, the folder it lies in, and the files it comes with.
Call it as soon as a task fits the description of an available skill, before you begin. It stays active until the run ends.`

interface SkillsUseInput {
  readonly name: string
  readonly arguments?: string
}

/** The tool by which a model activates a skill. */
export function createSkillsUse(host: RunSkills): ToolDef<SkillsUseInput> {
  return {
    spec: {
      name: 'skills_use',
      description,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'As listed under the available skills.' },
          arguments: { type: 'string', description: 'What the skill is to work on, if it takes arguments.' },
        },
        required: ['name'],
      },
    },
    // The commands of a skill are calls of their own, and keep their results if this call runs again.
    replay: 'keyed',
    effects: [],
    deriveApprovalKey: ({ name }) => name,
    timeoutMs: 600_000,
    execute: (input, ctx) => use(host, input, ctx),
  }
}

async function use(host: RunSkills, input: SkillsUseInput, ctx: ToolContext): Promise<ToolResult> {
  const { active, config, run } = host
  const skill = offered(host, input.name)
  active.checkLimit(skill)
  const args = input.arguments
  const commands = commandsOf(skill, run, ctx)
  active.runningCommands.set(ctx.callId, skill)
  const content = await readActivation({ skill, config, run: commands, ...(args !== undefined && { args }) }).finally(
    () => active.runningCommands.delete(ctx.callId),
  )
  const details = { skill: skill.name }
  const before = active.get(skill.name)
  if (!before) {
    await host.activate({ skill, via: 'model', content })
    return { output: content, details }
  }
  // A model that asks a third time gets the full text again.
  if (before.content === content && !before.wasRepeated) {
    before.wasRepeated = true
    return {
      output: `The skill "${skill.name}" is active already, and its instructions are as you know them.`,
      details,
    }
  }
  Object.assign(before, { content, wasRepeated: false })
  return { output: content, details }
}

/** A hidden skill is available after a person activated it: the model then runs its commands by this call. */
function offered({ skills, active }: RunSkills, name: string): Skill {
  const skill = findSkill(skills, name)
  if (skill && (!skill.isHidden || active.get(name))) return skill
  const names = skills.filter(({ isHidden }) => !isHidden).map((one) => one.name)
  throw new Error(`there is no skill "${name.slice(0, 100)}"${didYouMean(name, names)}; there are: ${names.join(', ')}`)
}
