/**
 * Tools whose results stay in the conversation however long they are: for `behavior.persistExcludeTools`. A file in
 * their place would have to be read again at once (`read_file`), or would take away what the model works by.
 */
export const DEFAULT_PERSIST_EXCLUDE_TOOLS: readonly string[] = Object.freeze([
  // They are files already.
  'read_file',
  'git-read-file',
  // Instructions, and schemas of tools that are to be called.
  'skills_use',
  'skills_read',
  'tool_search',
  // What a person said.
  'ask_user',
  'ask-question',
  'present_plan',
  // The list of what is to be done.
  'todowrite',
  'todoread',
  'manage-todo',
  // The answer itself.
  'summary',
])
