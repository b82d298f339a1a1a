# The tests of this folder; how they run stands at sluice_add_interop_test() in cmake/SluiceTests.cmake.

set(judges ${PROJECT_SOURCE_DIR}/interop/judges)
# A busy machine takes longer than its seconds to reach the minimums; a quiet one passes them many times over.
set(run_options --url "amqp://guest:guest@127.0.0.1:{port}" --patience 20)
set(reproducer reproducer ${run_options})

# The case that ends other clients' sessions within a second. Around it the negative control, against the same broker:
# a client whose flow is one too low or too high is ended, and our own auditor sees both.
sluice_add_interop_test(reproducer.one_session BROKER broker-j TIMEOUT 240
    COMMAND python3 ${PROJECT_SOURCE_DIR}/interop/negative_control.py
        --port {port} --tap {program:tap} --
        {program:reproducer} ${run_options} --in-flight 100 --credit 5
        --first-id 4294967293 --runs 3 --seconds 5 --min-transfers 20000 --min-flows 2000 --expect-wrap)
sluice_add_interop_test(reproducer.separate_sessions BROKER broker-j TIMEOUT 240
    COMMAND ${reproducer} --sessions separate --runs 3 --seconds 20
        --min-transfers 20000 --min-flows 2000 --expect-wrap)
# Several threads at once on one session.
sluice_add_interop_test(reproducer.many_threads BROKER broker-j
    COMMAND ${reproducer} --senders 4 --receivers 3 --runs 1 --seconds 5
        --min-transfers 20000 --min-flows 2000 --expect-wrap)
# Deliveries of many frames. Where bodies are streamed, a flow asked for while a frame's body is being pulled has to wait
# for the end of that frame; unless one really did, the run has shown nothing.
sluice_add_interop_test(reproducer.multiframe BROKER broker-j
    COMMAND ${reproducer} --body multiframe --senders 2 --receivers 2 --runs 1 --seconds 5
        --min-transfers 5000 --min-flows 200 --expect-wrap)
sluice_add_interop_test(reproducer.streamed BROKER broker-j
    COMMAND ${reproducer} --body streamed --grant-by-hand --extra-flows 2000 --senders 2 --receivers 2
        --runs 1 --seconds 5 --min-transfers 5000 --min-flows 200 --expect-wrap --expect-deferred)
sluice_add_interop_test(reproducer.mixed BROKER broker-j
    COMMAND ${reproducer} --body mixed --grant-by-hand --extra-flows 2000 --senders 3 --receivers 3
        --runs 1 --seconds 5 --min-transfers 5000 --min-flows 200 --expect-wrap --expect-deferred)

# Ctrl-C, as in `./dev demo`: it ends with its table, and nothing is left behind.
sluice_add_interop_test(interrupt
    COMMAND python3 ${PROJECT_SOURCE_DIR}/interop/interrupt.py {program:reproducer})

sluice_add_interop_test(broker_basics BROKER broker-j
    COMMAND broker_basics --port {port} --anonymous-port {anonymous_port})

# The same raw client against our own node: exact flows pass, all others are named at once with both numbers.
sluice_add_interop_test(stale_flow.node TIMEOUT 300
    COMMAND python3 ${PROJECT_SOURCE_DIR}/interop/stale_flow_node.py {program:node_host})

# A scripted peer that counts transfer frames and holds every flow against the exact value.
foreach(scenario IN ITEMS multi window echo abortrecv abortsend range wrap)
    sluice_add_interop_test(audit.${scenario}
        COMMAND python3 ${judges}/flow_audit.py 0 ${scenario} --
            {program:audited} --url "amqp://127.0.0.1:{port}" ${scenario})
endforeach()

# The auditor for anyone's traffic. Captures of the same runs have to give the same findings.
if(TARGET sluice_command)
    sluice_add_interop_test(audit_wrong_client BROKER broker-j
        COMMAND python3 ${PROJECT_SOURCE_DIR}/interop/audit_wrong_client.py
            --sluice $<TARGET_FILE:sluice_command> --port {port})
    foreach(language IN ITEMS c cpp python javascript go)
        sluice_add_interop_test(audit_client.${language} BROKER broker-j TIMEOUT 300
            COMMAND python3 ${PROJECT_SOURCE_DIR}/interop/audit_client.py
                --sluice $<TARGET_FILE:sluice_command> --port {port}
                --build ${PROJECT_BINARY_DIR}/clients ${language})
    endforeach()
endif()

# The `sluice` command through pipes and signals: its own node, senders and receivers.
if(TARGET sluice_command)
    sluice_add_interop_test(cli.everyday TIMEOUT 300
        COMMAND python3 -B ${PROJECT_SOURCE_DIR}/interop/cli_everyday.py $<TARGET_FILE:sluice_command>)
    # SCRAM, judged by two brokers.
    sluice_add_interop_test(scram.broker-j BROKER broker-j
        COMMAND ${PROJECT_SOURCE_DIR}/interop/scram $<TARGET_FILE:sluice_command> {port} SCRAM-SHA-1 SCRAM-SHA-256)
    sluice_add_interop_test(scram.artemis BROKER artemis
        COMMAND ${PROJECT_SOURCE_DIR}/interop/scram $<TARGET_FILE:sluice_command> {port} SCRAM-SHA-256 SCRAM-SHA-512)
    # As in `./dev demo`: the reproducer against the node, and Ctrl-C.
    sluice_add_interop_test(reproducer.node BROKER sluice
        COMMAND ${reproducer} --runs 1 --seconds 5 --min-transfers 20000 --min-flows 2000 --expect-wrap)
    sluice_add_interop_test(interrupt.node
        COMMAND python3 ${PROJECT_SOURCE_DIR}/interop/interrupt.py {program:reproducer} sluice)
    # The README's first example with the peer as an argument.
    sluice_add_interop_test(example.hello BROKER sluice COMMAND hello "amqp://guest:guest@127.0.0.1:{port}" q)
    set_tests_properties(interop.reproducer.node interop.interrupt.node interop.example.hello
        PROPERTIES ENVIRONMENT SLUICE=$<TARGET_FILE:sluice_command>)
endif()

# Connections that break all the time, a minute in all: a proxy resets, cuts, half-closes and delays at random octets.
# By hand, as long as you like: ./dev chaos 600
sluice_add_interop_test(chaos.node TIMEOUT 180
    COMMAND chaos --seconds 25 --exactly-once --octets-max 200000 --min-messages 1000 --min-cuts 10)
sluice_add_interop_test(chaos.node_in_mode_first TIMEOUT 180
    COMMAND chaos --seconds 10 --first --octets-max 200000 --min-messages 1000 --min-cuts 5)
sluice_add_interop_test(chaos.broker-j BROKER broker-j TIMEOUT 180
    COMMAND chaos --seconds 25 --port {port} --credentials guest:guest@ --octets-max 200000
        --min-messages 1000 --min-cuts 10)
# The process itself is killed, in the middle of traffic, and started again.
set(restart_scripts ${PROJECT_SOURCE_DIR}/interop/brokers)
if(TARGET sluice_command)
    sluice_add_interop_test(restart.node TIMEOUT 240 COMMAND restart ${restart_scripts}/sluice/sluice)
    set_tests_properties(interop.restart.node PROPERTIES ENVIRONMENT SLUICE=$<TARGET_FILE:sluice_command>)
endif()
sluice_add_interop_test(restart.broker-j TIMEOUT 300
    COMMAND restart ${restart_scripts}/broker-j/broker-j --credentials guest:guest@)

# TLS, WebSocket and logging in: each scheme, passwords and client certificates (SASL EXTERNAL), and what is said to those
# who may not; at our node also a certificate that changes, and the auditor in between.
if(TARGET sluice_command)
    set(transports python3 -B ${PROJECT_SOURCE_DIR}/interop/transports.py $<TARGET_FILE:sluice_command>)
    sluice_add_interop_test(transports.node TIMEOUT 300 COMMAND ${transports} node)
    sluice_add_interop_test(transports.broker-j BROKER broker-j TIMEOUT 300
        COMMAND ${transports} broker-j {port} {tls_port} {external_port} {dir})
    sluice_add_interop_test(transports.artemis BROKER artemis TIMEOUT 300
        COMMAND ${transports} artemis {port} {tls_port} {external_port} {dir})
endif()

# The dispatcher: what a rollback gives back comes again in its order; work in transactions.
sluice_add_interop_test(rollback.node COMMAND rollback)
foreach(broker IN ITEMS broker-j artemis)
    sluice_add_interop_test(rollback.${broker} BROKER ${broker}
        COMMAND rollback --url "amqp://guest:guest@127.0.0.1:{port}")
endforeach()
# It has no transactions and has to say so.
sluice_add_interop_test(rollback.rabbitmq BROKER rabbitmq
    COMMAND rollback --refuses --url "amqp://guest:guest@127.0.0.1:{port}")

# Pairings: this project with other people's clients, brokers and a server of Proton's, a cell at a time. A broker is
# started once for all of its cells. The last test holds docs/interop.md against what they saw.
if(TARGET sluice_command AND TARGET interop_pairing)
    set(pairing python3 -B ${PROJECT_SOURCE_DIR}/interop/pairing.py
        --state ${PROJECT_BINARY_DIR}/pairings --program $<TARGET_FILE:interop_pairing>
        --sluice $<TARGET_FILE:sluice_command> --clients ${PROJECT_BINARY_DIR}/clients)
    set(cells messages streamed settle_modes outcomes credit_one drain idle killed bodies properties)
    set(pairing_tests "")
    foreach(peer IN ITEMS proton-cpp proton-python rhea go-amqp broker-j artemis rabbitmq proton-listener)
        set(peer_cells ${cells})
        if(NOT peer MATCHES "^(proton-cpp|proton-python|rhea|go-amqp)$")
            list(APPEND peer_cells peer_killed)
        endif()
        set(prefix interop.pairing.${peer})
        add_test(NAME ${prefix}.start COMMAND ${pairing} start ${peer})
        add_test(NAME ${prefix}.stop COMMAND ${pairing} stop ${peer})
        set_tests_properties(${prefix}.start PROPERTIES FIXTURES_SETUP pairing_${peer} TIMEOUT 420)
        set_tests_properties(${prefix}.stop PROPERTIES FIXTURES_CLEANUP pairing_${peer} TIMEOUT 120)
        list(APPEND pairing_tests ${prefix}.start ${prefix}.stop)
        set(others "")
        foreach(cell IN LISTS peer_cells)
            add_test(NAME ${prefix}.${cell} COMMAND ${pairing} cell ${peer} ${cell})
            set_tests_properties(${prefix}.${cell} PROPERTIES
                FIXTURES_REQUIRED pairing_${peer} TIMEOUT 400)
            if(cell STREQUAL "peer_killed")  # the broker is gone after it
                set_tests_properties(${prefix}.${cell} PROPERTIES DEPENDS "${others}")
            endif()
            list(APPEND others ${prefix}.${cell})
        endforeach()
        list(APPEND pairing_tests ${others})
    endforeach()
    # Both are built in one folder.
    set_property(TEST interop.pairing.proton-listener.start PROPERTY DEPENDS interop.pairing.proton-cpp.start)
    add_test(NAME interop.pairing.table COMMAND ${pairing} table)
    set_tests_properties(interop.pairing.table PROPERTIES DEPENDS "${pairing_tests}")
    # They share a broker, not the machine: those that measure throughput run alone, these beside others.
    set_tests_properties(${pairing_tests} interop.pairing.table PROPERTIES LABELS interop)
endif()
