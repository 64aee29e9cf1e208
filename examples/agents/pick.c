/* An agent in C without any library: takes a legal action by the seed of the decision.
 *
 *     cc -O2 -o pick examples/agents/pick.c
 *     EVALSITE_PROGRAMS="pick=$PWD/pick" ./run up            (docs/agents.md)
 *
 * Its protocol is one JSON object a line. What evalsite writes has no spaces between its parts and no
 * arrays in `legal_actions`, so that finding a name is enough to read what this agent needs.
 *
 * To see what becomes of an agent that misbehaves: `pick die 3` exits at the third move of a match,
 * `pick hang 3` says nothing, `pick lie 3` plays what is not legal, `pick babble 3` says what is no message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long long number_after(const char *line, const char *name) {
    const char *at = strstr(line, name);
    return at ? atoll(at + strlen(name)) : -1;
}

int main(int n_arguments, char **arguments) {
    const char *fault = n_arguments > 1 ? arguments[1] : "";
    long long at_move = n_arguments > 2 ? atoll(arguments[2]) : 0;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        if (strstr(line, "\"type\":\"hello\"")) {
            puts("{\"type\":\"hello\",\"name\":\"pick in C\",\"version\":\"1\",\"wants\":[]}");
            fflush(stdout);
            continue;
        }
        long long id = number_after(line, "\"id\":"), seed = number_after(line, "\"seed\":");
        const char *legal = strstr(line, "\"legal_actions\":[");
        if (!legal || id < 0) return 1;
        legal += strlen("\"legal_actions\":[");
        long n_legal = 1;
        for (const char *c = legal; *c && *c != ']'; c++) n_legal += *c == ',';
        long chosen = (long)(seed % n_legal);
        for (; chosen > 0; chosen--) legal = strchr(legal, ',') + 1;
        long long action = atoll(legal);
        if (*fault && number_after(line, "\"n_moves\":") >= at_move) {
            if (!strcmp(fault, "die")) { fputs("no idea what to play\n", stderr); return 3; }
            if (!strcmp(fault, "hang")) for (;;) pause();
            if (!strcmp(fault, "babble")) { puts("e2e4"); fflush(stdout); continue; }
            action = 999999;
        }
        printf("{\"type\":\"action\",\"id\":%lld,\"action\":%lld}\n", id, action);
        fflush(stdout); /* else it stays in a buffer, and this agent loses by time */
    }
    return 0;
}
