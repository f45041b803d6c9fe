import { posix } from 'node:path'
import { type ExecResult, shellQuote, shellWord } from '../../core/execution.ts'
import type { ToolContext, ToolDef, ToolResult } from '../../core/tool.ts'
import { boundedKey } from '../../platform/digest.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { requireTrust } from '../activation.ts'
import { activeSkill, findSkill, type RunSkills } from '../active-skills.ts'
import type { Skill } from '../skill.ts'
import { pathProblem, withSkillFile } from '../skill-files.ts'

const description = `Runs a script that comes with an active skill, such as scripts/check.py, in the working directory. Gives back its output and exit code.`

interface SkillsRunScriptInput {
  readonly name: string
  readonly script: string
  readonly args?: readonly string[]
}

/** The tool by which a model runs the scripts of a skill. It declares exactly the line that runs. */
export function createSkillsRunScript(host: RunSkills): ToolDef<SkillsRunScriptInput> {
  return {
    spec: {
      name: 'skills_run_script',
      description,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Of the skill.' },
          script: { type: 'string', description: "Relative to the skill's folder." },
          args: { type: 'array', items: { type: 'string' } },
        },
        required: ['name', 'script'],
      },
    },
    replay: 'opaque',
    effects: ['exec'],
    commandLine: (input) => ({ command: lineOf(findSkill(host.skills, input.name), input) }),
    // Another project may have a skill of the same name, and other arguments may have another effect.
    deriveApprovalKey: (input) => boundedKey(lineOf(findSkill(host.skills, input.name), input)),
    timeoutMs: 0, // a script has its own limit
    check(input) {
      const problem = problemOf(host, input)
      return problem === undefined ? undefined : { valid: false, error: problem }
    },
    execute: (input, ctx) => runScript(host, input, ctx),
  }
}

const limitMs = 120_000
const mostShown = 32_768

function problemOf({ skills }: RunSkills, input: Readonly<Record<string, unknown>>): string | undefined {
  const { name, script, args = [] } = input
  const skill = findSkill(skills, String(name))
  if (!skill) return `there is no skill "${name}"`
  if (skill.folder === undefined) return `the skill "${name}" was written by the program and has no scripts`
  const areTexts = Array.isArray(args) && args.every((arg) => typeof arg === 'string' && !arg.includes('\0'))
  return areTexts ? pathProblem(String(script)) : 'args must be a list of texts'
}

/** Chooses the interpreter by extension; otherwise runs the file as a program. Arguments are quoted. */
function lineOf(skill: Skill | undefined, { script, args = [] }: SkillsRunScriptInput): string {
  const path = posix.join(skill?.folder ?? '/', script)
  const interpreter = interpreters[posix.extname(script).toLowerCase()]
  const program = interpreter === undefined ? [] : [interpreter]
  return [...program, shellWord(path), ...args.map((arg) => shellQuote(arg))].join(' ')
}

const interpreters: Readonly<Record<string, string>> = {
  '.sh': 'bash',
  '.bash': 'bash',
  '.py': 'python3',
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.rb': 'ruby',
  '.pl': 'perl',
}

async function runScript(host: RunSkills, input: SkillsRunScriptInput, ctx: ToolContext): Promise<ToolResult> {
  const skill = activeSkill(host, input.name)
  const { execution, handle, signal } = ctx
  const { shell, hostPrograms } = execution.capabilities
  if (!shell || !hostPrograms)
    throw new Error(`scripts of skills cannot be run here: commands run in "${execution.type}", where the skill is not`)
  await requireTrust(skill, host.config)
  // The interpreter opens the script by path, so a process that can write to the folder can still change it after this.
  await withSkillFile(skill, input.script, async () => {})
  const { folder = '' } = skill
  const how = { timeout: limitMs, signal, env: { SKILL_DIR: folder }, programs: folder === '' ? [] : [folder] }
  const result = await execution.exec(handle, lineOf(skill, input), how)
  const isError = result.exitCode !== 0
  return { output: shown(result), isError, details: { exitCode: result.exitCode } }
}

function shown({ stdout, stderr, exitCode, timedOut }: ExecResult): string {
  const said = visibleText([stdout, stderr].filter((one) => one !== '').join('\n'))
  const kept = said.length > mostShown ? `[cut: only the end]\n${said.slice(-mostShown)}` : said
  const end = timedOut ? `[stopped after ${limitMs / 1000} s]` : `[exit ${exitCode ?? 'by a signal'}]`
  return `${kept.trimEnd() || '(no output)'}\n${end}`
}
