"""Qwen Code on the screen. Its errors have a mark of their own."""

from synapse.agents.look import ErrorLine, Look, Marks

# The last is a tool that was not run, or was stopped.
_STOPPED = (r" *●\S* Request cancelled\.", r"  - \S")

# In the languages of its users; those of the English questions are known for all CLIs.
_PERMISSIONS = (
    r".*(?:許可|適用|続行)しますか",
    r"允许执行|允許執行|是否(?:应用|應用|继续|繼續)",
    r"Ausführung |Diese Änderung anwenden|Möchten Sie fortfahren",
    r"Autoriser |Appliquer |Voulez-vous continuer",
    r"Permetre |Permitir |Aplicar |Voleu continuar|Você deseja prosseguir",
    r"Разрешить |Применить |Вы хотите продолжить",
)

LOOK = Look(
    pointer="›",  # in lists, such as that of the providers without a login
    scroll_bars=("│█",),  # for a second or so after a conversation that is longer than the screen has moved
    line_marks="◆✕",
    permissions=_PERMISSIONS,
    dialog_ends=(r"[⠀-⣿] ?[^()]+(?:\.\.\.|…)$",),  # that it waits for an answer, in the language of its user
    errors=(ErrorLine(r" *✕\s(.+)", own=True),),
    stopped=_STOPPED,
    reply=Marks(
        inner_echo=">",
        answer="◆✕",
        numbering="◆",
        status=(r" *[⠀-⣿] ?.*",),
        notice=(r"● Request cancelled\.", r"✓ [A-Z]\w* "),  # the latter is a tool, with its result below
        stopped=_STOPPED,
    ),
)
