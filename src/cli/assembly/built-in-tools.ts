/** The names of all tools that come with the package, in any preset, plugin or extension. A test keeps it complete. */
export const builtInTools: readonly string[] = [
  'shell shell_output shell_stop read_file write_file edit multi_edit list_files glob grep web_fetch',
  'todoread todowrite ask_user present_plan spawn tool_search skills_use skills_read skills_run_script',
  'summary ask-question web-fetch zx-script spawn-agent manage-todo git-log git-read-file',
  'alarm-clock schedule-task list-schedules update-schedule remove-schedule',
  'wiki-search wiki-backlinks wiki-toc wiki-recent wiki-list-tiddlers wiki-get-errors',
  'wiki-operation edit-tiddler',
].flatMap((names) => names.split(' '))
