/**
 * Tools whose results stay in the conversation at any length, for `behavior.persistExcludeTools`. A file instead of the
 * result would be read again at once, or would hide instructions from the model.
 */
export const DEFAULT_PERSIST_EXCLUDE_TOOLS: readonly string[] = Object.freeze([
  // Contents of files.
  'read_file',
  'git-read-file',
  // Instructions, and schemas of tools to call.
  'skills_use',
  'skills_read',
  'tool_search',
  // Answers of a person.
  'ask_user',
  'ask-question',
  'present_plan',
  // The task list.
  'todowrite',
  'todoread',
  'manage-todo',
  // The answer itself.
  'summary',
])
