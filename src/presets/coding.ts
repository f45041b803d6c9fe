import { glob } from '../tools/glob.ts'
import { grep } from '../tools/grep.ts'
import { shell } from '../tools/shell.ts'
import { shellOutput, shellStop } from '../tools/shell-jobs.ts'
import { todoread, todowrite } from '../tools/todo.ts'
import { webFetch } from '../tools/web-fetch.ts'
import { basicTools } from './basic.ts'
import { definePreset } from './preset.ts'

/** `basicTools` with background jobs, search, a task list and the web. */
export const codingTools = {
  ...basicTools,
  shell,
  shellOutput,
  shellStop,
  glob,
  grep,
  todowrite,
  todoread,
  webFetch,
}

/** What an agent needs to work on a project. */
export const coding = definePreset({ name: 'coding', tools: codingTools })
